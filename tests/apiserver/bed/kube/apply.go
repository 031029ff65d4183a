package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// manager is the field manager of everything that the bed applies.
const manager = "bed"

// served is how long a kind may take from its definition to being served.
const served = time.Minute

type cache struct {
	sync.Mutex
	kinds map[string]found
}

type found struct {
	resource   Resource
	namespaced bool
}

// Resource asks the server under which name it serves a kind, and whether in namespaces. A kind
// that was defined a moment ago may need another moment, so it asks for a while.
func (c *Client) Resource(ctx context.Context, apiVersion, kind string) (Resource, bool, error) {
	c.resources.Lock()
	defer c.resources.Unlock()
	if f, ok := c.resources.kinds[apiVersion+" "+kind]; ok {
		return f.resource, f.namespaced, nil
	}
	ctx, cancel := context.WithTimeout(ctx, served)
	defer cancel()
	for {
		f, err := c.discover(ctx, apiVersion, kind)
		if err == nil {
			if c.resources.kinds == nil {
				c.resources.kinds = map[string]found{}
			}
			c.resources.kinds[apiVersion+" "+kind] = f
			return f.resource, f.namespaced, nil
		}
		if !IsCode(err, http.StatusNotFound) || !Pause(ctx, 50*time.Millisecond) {
			return Resource{}, false, err
		}
	}
}

func (c *Client) discover(ctx context.Context, apiVersion, kind string) (found, error) {
	group, version, ok := strings.Cut(apiVersion, "/")
	path := "/apis/" + apiVersion
	if !ok {
		group, version, path = "", apiVersion, "/api/"+apiVersion
	}
	list, err := c.Get(ctx, path)
	if err != nil {
		return found{}, err
	}
	for _, r := range list.List("resources") {
		r, _ := r.(map[string]any)
		o := Object(r)
		if o.Text("kind") == kind && !strings.Contains(o.Text("name"), "/") {
			namespaced, _ := o.Get("namespaced").(bool)
			return found{Resource{group, version, o.Text("name")}, namespaced}, nil
		}
	}
	return found{}, &StatusError{Code: http.StatusNotFound, Reason: "NotFound",
		Message: fmt.Sprintf("%s serves no kind %s", apiVersion, kind)}
}

// Apply applies one document on the server's side, by force, and its status beside it where it
// has one: the server ignores a status in the object itself.
func (c *Client) Apply(ctx context.Context, d Document, defaultNamespace string) error {
	resource, namespaced, err := c.Resource(ctx, d.APIVersion, d.Kind)
	if err != nil {
		return err
	}
	namespace := ""
	if namespaced {
		namespace = d.Namespace
		if namespace == "" {
			namespace = defaultNamespace
		}
	}
	query := "?force=true&fieldValidation=Strict&fieldManager=" + manager
	path := resource.Path(namespace, d.Name)
	if _, err := c.Patch(ctx, path+query, ApplyPatch, []byte(d.Text)); err != nil {
		return err
	}
	if d.HasStatus {
		_, err := c.Patch(ctx, path+"/status"+query, ApplyPatch, []byte(d.Text))
		if err != nil && !IsCode(err, http.StatusNotFound) {
			return fmt.Errorf("status: %w", err)
		}
	}
	if d.Kind == "CustomResourceDefinition" {
		return c.awaitEstablished(ctx, path)
	}
	return nil
}

// ApplyAll applies every document of a YAML text in its order. {{KEY}} becomes set[KEY]; and
// {{uid:RESOURCE.VERSION.GROUP/NAMESPACE/NAME}} becomes the uid of that object, read when the
// document's turn comes. The number of applied documents is returned.
func (c *Client) ApplyAll(ctx context.Context, text, defaultNamespace string, set map[string]string) (int, error) {
	for key, value := range set {
		text = strings.ReplaceAll(text, "{{"+key+"}}", value)
	}
	documents, err := Documents(text)
	if err != nil {
		return 0, err
	}
	for i, d := range documents {
		err := c.fillUIDs(ctx, &d)
		if err == nil {
			err = c.Apply(ctx, d, defaultNamespace)
		}
		if err != nil {
			return i, fmt.Errorf("%s %s: %w", d.Kind, strings.TrimPrefix(d.Namespace+"/"+d.Name, "/"), err)
		}
	}
	return len(documents), nil
}

var uidReference = regexp.MustCompile(`\{\{uid:([^.{}/]+)\.([^.{}/]+)\.([^{}/]*)/([^{}/]*)/([^{}/]+)\}\}`)

func (c *Client) fillUIDs(ctx context.Context, d *Document) error {
	for _, m := range uidReference.FindAllStringSubmatch(d.Text, -1) {
		o, err := c.Get(ctx, Resource{m[3], m[2], m[1]}.Path(m[4], m[5]))
		if err != nil {
			return fmt.Errorf("%s: %w", m[0], err)
		}
		d.Text = strings.ReplaceAll(d.Text, m[0], o.UID())
	}
	if i := strings.Index(d.Text, "{{"); i >= 0 {
		rest, _, _ := strings.Cut(d.Text[i:], "\n")
		return fmt.Errorf("nothing was given for %q", rest)
	}
	return nil
}

func (c *Client) awaitEstablished(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, served)
	defer cancel()
	for {
		o, err := c.Get(ctx, path)
		if err != nil {
			return err
		}
		for _, condition := range o.List("status", "conditions") {
			m, _ := condition.(map[string]any)
			if Object(m).Text("type") == "Established" && Object(m).Text("status") == "True" {
				return nil
			}
		}
		if !Pause(ctx, 20*time.Millisecond) {
			return errors.New("not established in time")
		}
	}
}

// Pause waits, and says false when the context ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
