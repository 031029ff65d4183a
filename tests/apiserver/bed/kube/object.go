package kube

import "strings"

// Object is any API object, as JSON decodes it.
type Object map[string]any

// Get walks down the keys; nil when something on the way is missing or no map.
func (o Object) Get(path ...string) any {
	var at any = map[string]any(o)
	for _, key := range path {
		inner, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = inner[key]
	}
	return at
}

// Text is the string at the path, "" when there is none.
func (o Object) Text(path ...string) string {
	s, _ := o.Get(path...).(string)
	return s
}

// Int is the number at the path, 0 when there is none.
func (o Object) Int(path ...string) int64 {
	n, _ := o.Get(path...).(float64)
	return int64(n)
}

// List is the list at the path, nil when there is none.
func (o Object) List(path ...string) []any {
	l, _ := o.Get(path...).([]any)
	return l
}

// Items are the objects of a list.
func (o Object) Items() []Object {
	var items []Object
	for _, item := range o.List("items") {
		if m, ok := item.(map[string]any); ok {
			items = append(items, m)
		}
	}
	return items
}

func (o Object) Name() string            { return o.Text("metadata", "name") }
func (o Object) Namespace() string       { return o.Text("metadata", "namespace") }
func (o Object) UID() string             { return o.Text("metadata", "uid") }
func (o Object) ResourceVersion() string { return o.Text("metadata", "resourceVersion") }
func (o Object) Generation() int64       { return o.Int("metadata", "generation") }

// Key is namespace/name, or the name alone.
func (o Object) Key() string {
	if o.Namespace() == "" {
		return o.Name()
	}
	return o.Namespace() + "/" + o.Name()
}

// Resource is a kind of object as paths name it; Group is "" for the core group.
type Resource struct{ Group, Version, Name string }

// Resources that the bed and its tests name often.
var (
	Namespaces      = Resource{"", "v1", "namespaces"}
	Secrets         = Resource{"", "v1", "secrets"}
	ServiceAccounts = Resource{"", "v1", "serviceaccounts"}
	Events          = Resource{"", "v1", "events"}
	Leases          = Resource{"coordination.k8s.io", "v1", "leases"}
	Projects        = Resource{"controller.kubeslice.io", "v1alpha1", "projects"}
	Clusters        = Resource{"controller.kubeslice.io", "v1alpha1", "clusters"}
	SliceConfigs    = Resource{"controller.kubeslice.io", "v1alpha1", "sliceconfigs"}
)

// Path is the URL path of an object. Namespace "" means cluster-scoped, or all namespaces; name
// "" means the collection; sub is a subresource such as "status".
func (r Resource) Path(namespace, name string, sub ...string) string {
	parts := []string{"", "apis", r.Group, r.Version}
	if r.Group == "" {
		parts = []string{"", "api", r.Version}
	}
	if namespace != "" {
		parts = append(parts, "namespaces", namespace)
	}
	parts = append(parts, r.Name)
	if name != "" {
		parts = append(parts, name)
	}
	return strings.Join(append(parts, sub...), "/")
}
