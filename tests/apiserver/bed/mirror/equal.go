package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// difference is what two hubs do not have in common of what is mirrored.
type difference struct {
	objects                int
	lost, extra, different []string
}

func (d difference) problem() error {
	if len(d.lost)+len(d.extra)+len(d.different) == 0 {
		return nil
	}
	list := func(all []string) string { return strings.Join(all[:min(len(all), 5)], "; ") }
	return fmt.Errorf("%d lost: %s; %d extra: %s; %d different: %s", len(d.lost), list(d.lost), len(d.extra), list(d.extra),
		len(d.different), list(d.different))
}

// compare lists every mirrored kind on both hubs. It knows the mirror's rules by docs/mirror.md and
// not by the syncer's words: what the syncer itself believes does not count here.
func (r *run) compare(ctx context.Context, source, copies *pair.Hub) (difference, error) {
	var d difference
	spaces, err := source.Admin.Get(ctx, kube.Namespaces.Path("", "")+"?labelSelector=kubeslice-resource-owner%3Dkubeslice-controller")
	if err != nil {
		return d, err
	}
	mirrored := map[string]bool{}
	for _, o := range spaces.Items() {
		mirrored[o.Name()] = !strings.HasPrefix(o.Name(), "kube-")
	}
	for _, w := range rows() {
		theirs, err := source.Admin.Get(ctx, w.resource.Path("", ""))
		if err != nil {
			return d, err
		}
		ours, err := copies.Admin.Get(ctx, w.resource.Path("", "")+"?labelSelector="+copyLabel)
		if err != nil {
			return d, err
		}
		have := map[string]kube.Object{}
		for _, o := range ours.Items() {
			if !strings.HasPrefix(o.Name(), "understudy-mirror-") {
				have[o.Key()] = o
			}
		}
		for _, o := range theirs.Items() {
			if !isMirrored(w, o, mirrored) {
				continue
			}
			d.objects++
			copy := have[o.Key()]
			delete(have, o.Key())
			if copy == nil {
				d.lost = append(d.lost, w.kind+" "+o.Key())
			} else if err := sameObject(w, o, copy); err != nil {
				d.different = append(d.different, w.kind+" "+o.Key()+": "+err.Error())
			}
		}
		for _, name := range slices.Sorted(maps.Keys(have)) {
			d.extra = append(d.extra, w.kind+" "+name)
		}
	}
	return d, nil
}

// isMirrored says whether an object of the source belongs to the mirror.
func isMirrored(w row, o kube.Object, spaces map[string]bool) bool {
	owned := o.Text("metadata", "labels", "kubeslice-resource-owner") == "kubeslice-controller"
	switch {
	case o.Text("metadata", "annotations", marks+"mirror") == "false":
		return false
	case w.kind == "Namespace":
		return spaces[o.Name()]
	case w.kind == "Project":
		return o.Namespace() == pair.Namespace
	case !spaces[o.Namespace()]:
		return false
	case w.kind == "ServiceAccount" || w.kind == "Role" || w.kind == "RoleBinding":
		return owned && o.Name() != "default" && !strings.HasPrefix(o.Name(), "understudy-mirror-")
	case w.kind == "Secret":
		return !slices.Contains([]string{"helm.sh/release.v1", "bootstrap.kubernetes.io/token"}, o.Text("type"))
	}
	return true
}

// sameObject compares content, labels and annotations but for what the two must not share.
func sameObject(w row, source, copy kube.Object) error {
	x, y := content(source), content(copy)
	for _, o := range []kube.Object{x, y} {
		switch {
		case w.kind == "Namespace":
			delete(o, "spec")
			delete(o, "status")
		case w.kind == "Secret" && o.Text("type") == "kubernetes.io/service-account-token":
			delete(o, "data")
		case w.kind == "ServiceAccount":
			delete(o, "secrets") // merged with this hub's own
			delete(o, "imagePullSecrets")
		}
		delete(o, "apiVersion") // items of a list of a core kind have none
		delete(o, "kind")
	}
	if !reflect.DeepEqual(x, y) {
		return errors.New("content")
	}
	for _, place := range []string{"labels", "annotations"} {
		a, b := own(source, place), own(copy, place)
		if !maps.Equal(a, b) {
			return fmt.Errorf("%s %v and %v", place, a, b)
		}
	}
	return nil
}

func own(o kube.Object, place string) map[string]string {
	kept := map[string]string{}
	all, _ := o.Get("metadata", place).(map[string]any)
	for key, value := range all {
		if strings.HasPrefix(key, marks) || strings.HasPrefix(key, "kubernetes.io/service-account.uid") ||
			strings.HasPrefix(key, "kubernetes.io/legacy-token") || strings.HasPrefix(key, "argocd.argoproj.io/") ||
			key == "app.kubernetes.io/instance" || key == "kubectl.kubernetes.io/last-applied-configuration" ||
			key == "kubernetes.io/metadata.name" || key == podSecurity && value != "restricted" {
			continue
		}
		kept[key], _ = value.(string)
	}
	return kept
}
