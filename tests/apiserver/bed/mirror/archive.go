package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

var (
	clusterRoles = rbac("clusterroles")
	gateways     = crd("worker", "workerslicegateways")
)

// notMirrored checks the list of what is left out or referred to, and that a kind that the source
// does not show is Unknown and not empty.
func (r *run) notMirrored(ctx context.Context) error {
	path := gateways.Path(pair.Project, "green-worker-1-worker-2")
	credentials := func(name string) kube.Object {
		return kube.Object{"spec": map[string]any{"gatewayCredentials": map[string]any{"secretName": name}}}
	}
	if _, err := r.a.Admin.Merge(ctx, path, credentials("elsewhere")); err != nil {
		return err
	}
	r.check("a Secret that a mirrored object names and that is not in the mirror is listed, with both names",
		r.says(ctx, r.b, "Secret kubeslice-cisco/elsewhere", "referenced by WorkerSliceGateway kubeslice-cisco/green-worker-1-worker-2 in spec.gatewayCredentials.secretName"))
	if _, err := r.a.Admin.Merge(ctx, path, credentials("green-worker-1-worker-2")); err != nil {
		return err
	}
	r.check("and is not when the reference is good again", see.Eventually(ctx, patience, func() error {
		if listed(ctx, r.b, "kubeslice-cisco/elsewhere", "referenced") == nil {
			return errors.New("it is still listed")
		}
		return nil
	}))
	if err := r.create(ctx, kube.Secrets, secret("sh.helm.release.v1.y.v1", "helm.sh/release.v1", nil)); err != nil {
		return err
	}
	if err := r.says(ctx, r.b, "Secret kubeslice-cisco/sh.helm.release.v1.y.v1", "Helm's records"); err != nil {
		r.check("an object that is never mirrored is listed with the reason", err)
	}
	r.ctlCheck(ctx, "sync status --excluded lists an object that is never mirrored with the reason", r.b, 0,
		[]string{"excluded    Secret kubeslice-cisco/sh.helm.release.v1.y.v1: Secrets of its type belong to one cluster"}, "sync", "status", "--excluded")
	if err := r.a.Admin.Delete(ctx, kube.Secrets.Path(pair.Project, "sh.helm.release.v1.y.v1")); err != nil {
		return err
	}
	return r.unreadableKind(ctx)
}

func (r *run) unreadableKind(ctx context.Context) error {
	role, err := r.a.Admin.Get(ctx, clusterRoles.Path("", "understudy-peer-syncer"))
	if err != nil {
		return err
	}
	all, _ := json.Marshal(role["rules"])
	less := strings.Replace(string(all), `"sliceqosconfigs",`, "", 1)
	rules := func(text string) kube.Object {
		var list []any
		json.Unmarshal([]byte(text), &list)
		return kube.Object{"rules": list}
	}
	if _, err := r.a.Admin.Merge(ctx, clusterRoles.Path("", "understudy-peer-syncer"), rules(less)); err != nil {
		return err
	}
	r.check("a kind that the source does not show any more is Unknown, not empty, and its copies stay", r.afterResync(ctx, func() error {
		if _, err := r.ctl(ctx, r.b, 0, []string{"mirror        Unknown, INCOMPLETE: SliceQoSConfig: forbidden", "SliceQoSConfig       Unknown"}, "sync", "status"); err != nil {
			return err
		}
		_, err := r.b.Admin.Get(ctx, crd("controller", "sliceqosconfigs").Path(pair.Project, "steady"))
		return err
	}))
	r.ctlCheck(ctx, "sync diff says that it cannot compare", r.b, 2, []string{"NO  SliceQoSConfig on the source", "forbidden"}, "sync", "diff", "SliceQoSConfig")
	if _, err := r.a.Admin.Merge(ctx, clusterRoles.Path("", "understudy-peer-syncer"), rules(string(all))); err != nil {
		return err
	}
	return r.afterResync(ctx, func() error {
		if !r.b.Armed(ctx) {
			return errors.New("hub-b is not complete again")
		}
		return nil
	})
}

// afterResync lists one kind anew until the answer is nil: authorizers learn of a change a moment
// later, and commands to the mirror are bounded.
func (r *run) afterResync(ctx context.Context, ask func() error) error {
	var err error
	for range 8 {
		if _, err = r.ctl(ctx, r.b, 0, nil, "sync", "resync", "SliceQoSConfig"); err != nil {
			return err
		}
		if err = see.Eventually(ctx, 4*time.Second, ask); err == nil {
			return nil
		}
	}
	return err
}

// lostByFailover lets hub-a die and come back with a past that hub-b has never seen.
func (r *run) lostByFailover(ctx context.Context) error {
	if err := r.leaveOver(ctx); err != nil {
		return err
	}
	if err := r.create(ctx, kube.SliceConfigs, slice("green2")); err != nil {
		return err
	}
	if err := copied(ctx, r.b, kube.SliceConfigs.Path(pair.Project, "green2"), any_); err != nil {
		return err
	}
	r.die(r.a)
	if err := r.leads(ctx, r.b); err != nil {
		return err
	}
	if err := r.leftOver(ctx); err != nil {
		return err
	}
	if err := r.repair(ctx, r.a); err != nil {
		return err
	}
	if err := r.past(ctx); err != nil {
		return err
	}
	if err := r.create(ctx, kube.Secrets, secret("password", "Opaque", map[string]any{"k": "aHVudGVyMg=="})); err != nil {
		return err
	}
	if err := r.a.Start(); err != nil {
		return err
	}
	return see.Eventually(ctx, 3*patience, func() error {
		if !r.a.Armed(ctx) {
			return errors.New("hub-a is not armed and complete")
		}
		return nil
	})
}

func (r *run) archive(ctx context.Context) error {
	if err := r.lostByFailover(ctx); err != nil {
		return err
	}
	from, to := []string{"--kubeconfig", r.a.Cluster.Kubeconfig()}, []string{"--to-kubeconfig", r.b.Cluster.Kubeconfig()}
	archive := func(words ...string) []string { return append(slices.Concat([]string{"archive"}, words), from...) }

	r.check("the own Lease tells how far the rejoin was, and what it archived", see.Eventually(ctx, patience, func() error {
		o, err := r.a.Admin.Get(ctx, kube.Leases.Path(pair.Namespace, "kubeslice-controller-ha"))
		var said kube.Object
		if err == nil {
			err = json.Unmarshal([]byte(o.Text("metadata", "annotations", marks+"rejoin")), &said)
		}
		if err == nil && said.Int("archived") < 5 {
			err = fmt.Errorf("%v", said)
		}
		return err
	}))
	r.ctlCheck(ctx, "sync status says how many objects were archived", r.a, 0, []string{"objects that were here other than on the peer: understudyctl archive list"}, "sync", "status")
	out := r.ctlCheck(ctx, "archive list names what the failover would have lost", r.a, 0, []string{
		"extra    SliceConfig kubeslice-cisco/unseen", "changed  SliceConfig kubeslice-cisco/green", "extra    SliceConfig " + lost + "/only-here",
		"extra    Secret " + lost + "/key", "extra    Secret kubeslice-cisco/password"}, archive("list")...)
	named, rows := map[string]string{}, 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "archive-") {
			rows++
		}
		if f := strings.Fields(line); len(f) == 6 {
			named[f[4]+" "+f[5]] = f[0]
		}
	}
	r.ctlCheck(ctx, "of a takeover that did not happen it names nothing", r.a, 0, []string{"nothing was lost"}, archive("list", "--term", "99")...)
	asJSON, err := r.ctl(ctx, r.a, 0, nil, archive("list", "-o", "json", "--since", "1h")...)
	var list []any
	if err == nil {
		err = json.Unmarshal([]byte(asJSON), &list)
	}
	if err == nil && len(list) != rows {
		err = fmt.Errorf("%d, not %d:\n%s", len(list), rows, out)
	}
	r.check("the same as JSON", err)
	green, unseen, only, password := named["SliceConfig kubeslice-cisco/green"], named["SliceConfig kubeslice-cisco/unseen"],
		named["SliceConfig "+lost+"/only-here"], named["Secret kubeslice-cisco/password"]
	r.ctlCheck(ctx, "archive show prints one as it was", r.a, 0, []string{`"maxClusters": 7`}, archive("show", green)...)
	out = r.ctlCheck(ctx, "a Secret without its content", r.a, 0, []string{"(12 characters"}, archive("show", password)...)
	if strings.Contains(out, "aHVudGVyMg") {
		r.check("a Secret without its content: it is not there", errors.New("it is"))
	}
	r.ctlCheck(ctx, "unless that is asked for", r.a, 0, []string{"aHVudGVyMg=="}, archive("show", password, "--show-secrets")...)
	r.ctlCheck(ctx, "one that is not there is refused", r.a, 1, []string{"not found"}, archive("show", "archive-9-0123456789abcdef")...)
	r.ctlCheck(ctx, "as is another cluster's kubeconfig that does not exist", r.a, 1, []string{"kubectl"}, "archive", "list", "--kubeconfig", "/nonexistent")

	restore := func(words ...string) []string {
		return append(archive(slices.Concat([]string{"restore"}, words)...), to...)
	}
	r.ctlCheck(ctx, "nothing is restored onto a hub that does not lead", r.a, 1, []string{"NO  role of the target hub", "Standby", "nothing was changed"},
		append(archive("restore", unseen), "--to-kubeconfig", r.a.Cluster.Kubeconfig())...)
	r.ctlCheck(ctx, "nor into a namespace that is not there", r.a, 1, []string{"NO  its namespace there", "missing"}, restore(only)...)
	r.ctlCheck(ctx, "a dry run writes nothing", r.a, 0, []string{"as a dry run: nothing was written"}, restore(unseen, "--dry-run")...)
	r.check("it has written nothing", gone(ctx, r.b, kube.SliceConfigs.Path(pair.Project, "unseen")))
	r.ctlCheck(ctx, "archive restore", r.a, 0, []string{"restore: done: SliceConfig kubeslice-cisco/unseen is created"}, restore(unseen)...)
	path := kube.SliceConfigs.Path(pair.Project, "unseen")
	r.check("makes the object on the hub that leads, with nothing of the old one's server", func() error {
		o, err := r.b.Admin.Get(ctx, path)
		if err == nil && (o.Get("metadata", "finalizers") != nil || o.Text("metadata", "labels", copyLabel) != "" || o.Int("spec", "maxClusters") != 16) {
			err = fmt.Errorf("metadata %v", o.Get("metadata"))
		}
		return err
	}())
	r.check("and the mirror brings it to the hub that had lost it", copied(ctx, r.a, path, any_))
	r.ctlCheck(ctx, "once more is done already", r.a, 0, []string{"is there and equal"}, restore(unseen)...)
	if err := r.overwrite(ctx, green, restore); err != nil {
		return err
	}
	r.ctlCheck(ctx, "archive prune deletes nothing that is younger than 30 days", r.a, 0, []string{"prune: done: 0 archived objects are deleted"}, archive("prune")...)
	r.ctlCheck(ctx, "what is due is listed in a dry run", r.a, 0, []string{"would be deleted, 1 stay"}, archive("prune", "--keep", "1", "--dry-run")...)
	r.ctlCheck(ctx, "for a program, too", r.a, 0, []string{`"outcome": "done"`, `"stay": 1`}, archive("prune", "--keep", "1", "--dry-run", "-o", "json")...)
	r.ctlCheck(ctx, "without a terminal and a word nothing is pruned", r.a, 1, []string{"not confirmed"}, archive("prune", "--older-than", "0s")...)
	r.ctlCheck(ctx, "archive prune --keep", r.a, 0, []string{"are deleted, 1 stay"}, archive("prune", "--keep", "1", "--yes", "prune")...)
	kept, err := archived(ctx, r.a)
	if err == nil && len(kept) != 1 {
		err = fmt.Errorf("%s", names(kept))
	}
	r.check("one is left", err)
	r.ctlCheck(ctx, "the hubs are equal but for the namespace that waits for a person's word", r.a, 1,
		[]string{"Namespace " + lost + ": only on this hub (its deletion is held)", ": 1 differ"}, "sync", "diff")
	return nil
}

// overwrite is a restore onto an object that is newer.
func (r *run) overwrite(ctx context.Context, green string, restore func(...string) []string) error {
	title := "SliceConfig kubeslice-cisco/green"
	max := func(want int64) error {
		o, err := r.b.Admin.Get(ctx, kube.SliceConfigs.Path(pair.Project, "green"))
		if err == nil && o.Int("spec", "maxClusters") != want {
			err = fmt.Errorf("maxClusters %d", o.Int("spec", "maxClusters"))
		}
		return err
	}
	before, err := r.b.Admin.Get(ctx, kube.SliceConfigs.Path(pair.Project, "green"))
	if err != nil {
		return err
	}
	was := before.Int("spec", "maxClusters")
	r.ctlCheck(ctx, "what is newer is not overwritten", r.a, 1, []string{"NO  an object of that name", "absent; --force replaces it"}, restore(green)...)
	r.ctlCheck(ctx, "nor by force without its name", r.a, 1, []string{"not confirmed; in a script: --yes '" + title + "'"}, restore(green, "--force")...)
	r.ctlCheck(ctx, "nor with another one's", r.a, 1, []string{"not confirmed"}, restore(green, "--force", "--yes", "SliceConfig kubeslice-cisco/red")...)
	r.ctlCheck(ctx, "nor in a dry run", r.a, 0, []string{"nothing was written"}, restore(green, "--force", "--dry-run")...)
	r.ctlCheck(ctx, "and a program is told the same", r.a, 0, []string{`"outcome": "done"`, `"dryRun": true`, "nothing was written"},
		restore(green, "--force", "--dry-run", "-o", "json")...)
	r.check("it is as it was", max(was))
	r.ctlCheck(ctx, "by force and by name it is replaced", r.a, 0, []string{title + " is replaced"}, restore(green, "--force", "--yes", title)...)
	r.check("by what was archived", max(7))
	return nil
}
