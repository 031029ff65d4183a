package mirror

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"understudy.test/bed/fault"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// memory is the most that a syncer may hold while it gets the largest objects that a server stores.
const memory = 48

var qualities = crd("controller", "sliceqosconfigs")

// odd is what a source may send without being broken, and what a broken one sends: each is either
// copied as it is or listed with its cause, and everything else goes on.
func (r *run) odd(ctx context.Context) error {
	for _, part := range []func(*run, context.Context) error{
		(*run).oddNames, (*run).manyKeys, (*run).deep, (*run).annotations, (*run).large, (*run).longList, (*run).manyObjects,
	} {
		if err := part(r, ctx); err != nil {
			return err
		}
	}
	return r.armed(ctx, r.b)
}

// follows creates an object on hub-a and demands its copy.
func (r *run) follows(ctx context.Context, name string, resource kube.Resource, o kube.Object) {
	err := r.create(ctx, resource, o)
	if err == nil {
		err = copied(ctx, r.b, resource.Path(pair.Project, o.Name()), func(copy kube.Object) error {
			source, err := r.a.Admin.Get(ctx, resource.Path(pair.Project, o.Name()))
			if err != nil {
				return err
			}
			return sameContent(source, copy)
		})
	}
	r.check(name, err)
}

func (r *run) oddNames(ctx context.Context) error {
	role := owned("rbac.authorization.k8s.io/v1", "Role", nil)
	r.follows(ctx, "a name with colons and dots is copied", roles, named(role, "system:thing.x:y"))
	r.follows(ctx, "a name with dots is copied", kube.SliceConfigs, slice("a.b-c.d.example.com"))
	r.follows(ctx, "a name of 253 characters is copied", kube.Secrets, secret(strings.Repeat("n", 253), "Opaque", nil))
	return nil
}

func (r *run) manyKeys(ctx context.Context) error {
	data := map[string]any{}
	for i := range 10000 {
		data[fmt.Sprintf("key-%05d", i)] = "djE="
	}
	r.follows(ctx, "a Secret with 10,000 keys is copied", kube.Secrets, secret("many-keys", "Opaque", data))
	return nil
}

// deep needs a field that takes anything, on both hubs.
func (r *run) deep(ctx context.Context) error {
	patch := []byte(`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-preserve-unknown-fields","value":true}]`)
	for _, h := range r.pair.Hubs {
		if _, err := h.Admin.Patch(ctx, definitions.Path("", "vpnkeyrotations.controller.kubeslice.io"), kube.JSONPatch, patch); err != nil {
			return err
		}
	}
	var value any = "bottom"
	for range 200 {
		value = map[string]any{"d": value}
	}
	o := spare("controller", "VpnKeyRotation", map[string]any{"sliceName": "x", "deep": value})
	breakGlass, err := kube.Load(r.b.Cluster.BreakGlass())
	if err != nil {
		return err
	}
	defer breakGlass.Close()
	// The servers take a moment to know the field.
	for _, client := range []*kube.Client{r.a.Admin, breakGlass} {
		if err := see.Eventually(ctx, patience, func() error {
			trial, err := client.Create(ctx, rotations.Path(pair.Project, "")+"?dryRun=All", named(o, "deep"))
			if err == nil && trial.Get("spec", "deep") == nil {
				err = errors.New("the field is pruned")
			}
			return err
		}); err != nil {
			return err
		}
	}
	// A watch that is open shows objects by the schema that it began with.
	r.proxies[r.a].Disconnect()
	r.follows(ctx, "an object of depth 200 is copied", rotations, named(o, "deep"))
	return nil
}

// annotations: the server takes 256 KiB of them, and a copy needs some of its own.
func (r *run) annotations(ctx context.Context) error {
	const limit = 256 * 1024
	with := func(name string, size int) kube.Object {
		o := slice(name)
		o["metadata"].(map[string]any)["annotations"] = map[string]any{"big": strings.Repeat("a", size-len("big"))}
		return o
	}
	r.follows(ctx, "annotations of 255 KiB are copied", kube.SliceConfigs, with("noted", limit-1024))
	if err := r.create(ctx, kube.SliceConfigs, with("over", limit)); err != nil {
		return err
	}
	r.check("annotations at the server's limit leave no room for the mirror's: listed, with the cause",
		r.says(ctx, r.b, "SliceConfig "+pair.Project+"/over", "annotations"))
	r.check("the mirror is not complete meanwhile", incomplete(ctx, r.b))
	r.follows(ctx, "the rest of the kind goes on", kube.SliceConfigs, slice("beside-over"))
	if err := r.a.Admin.Delete(ctx, kube.SliceConfigs.Path(pair.Project, "over")); err != nil {
		return err
	}
	return r.armed(ctx, r.b)
}

func rotation(name string, size int) kube.Object {
	return named(spare("controller", "VpnKeyRotation", map[string]any{"sliceName": strings.Repeat("x", size)}), name)
}

// large goes up to what an API server stores at all.
func (r *run) large(ctx context.Context) error {
	r.follows(ctx, "an object of 1.4 MiB is copied", rotations, rotation("large", 14<<20/10))
	// A namespace outside of the mirror, its name as long as the project's: the largest that fits.
	const elsewhere = "somewhere-else1"
	if _, err := r.a.Admin.ApplyAll(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+elsewhere+"}\n", "default", nil); err != nil {
		return err
	}
	fits, tooMuch := 14<<20/10, 16<<20/10
	for tooMuch-fits > 40 {
		size := (fits + tooMuch) / 2
		if _, err := r.a.Admin.Create(ctx, rotations.Path(elsewhere, ""), rotation("huge", size)); err != nil {
			tooMuch = size
			continue
		}
		fits = size
		if err := r.a.Admin.Delete(ctx, rotations.Path(elsewhere, "huge")); err != nil {
			return err
		}
	}
	if err := r.create(ctx, rotations, rotation("huge", fits)); err != nil {
		return err
	}
	r.check(fmt.Sprintf("an object of %d bytes, the largest that the source stores, does not fit with the mirror's marks: listed, with the cause", fits),
		r.says(ctx, r.b, "VpnKeyRotation "+pair.Project+"/huge", "too large"))
	r.follows(ctx, "the rest of that kind goes on", rotations, rotation("beside-huge", 10))
	if err := r.a.Admin.Delete(ctx, rotations.Path(pair.Project, "huge")); err != nil {
		return err
	}
	// More of them than one answer may hold: the kind is listed in smaller pages.
	for i := range 12 {
		if err := r.create(ctx, rotations, rotation(fmt.Sprint("large-", i), 13<<20/10)); err != nil {
			return err
		}
	}
	if err := r.restart(ctx); err != nil {
		return err
	}
	r.check("13 objects of more than 1.3 MiB are there after a restart", r.equal(ctx))
	err := r.armed(ctx, r.b)
	now, most := mib(pidOf(r.b, "syncer")), peak(pidOf(r.b, "syncer"))
	r.check(fmt.Sprintf("with them the syncer's memory is bounded: %.1f MiB now, %.1f at the most", now, most), errors.Join(within(now, memory), within(most, 2*memory)))
	if err != nil {
		return err
	}
	for i := range 12 {
		if err := r.a.Admin.Delete(ctx, rotations.Path(pair.Project, fmt.Sprint("large-", i))); err != nil {
			return err
		}
	}
	return r.a.Admin.Delete(ctx, rotations.Path(pair.Project, "large"))
}

// longList is more than a syncer keeps of what it still has to write: the list is read once more, in
// pages, while its copies are made.
func (r *run) longList(ctx context.Context) error {
	const count, size = 900, 16 << 10
	r.b.Kill()
	if err := eightAtATime(count, func(i int) error {
		o := rotation(fmt.Sprint("long-", i), size)
		o["metadata"].(map[string]any)["labels"] = map[string]any{"long": "yes"}
		return r.create(ctx, rotations, o)
	}); err != nil {
		return err
	}
	var mutex sync.Mutex
	byName := 0
	r.proxies[r.a].Plan(func(q *http.Request) fault.Fault {
		mutex.Lock()
		defer mutex.Unlock()
		if strings.Contains(q.URL.Path, "/vpnkeyrotations/long-") {
			byName++
		}
		return fault.Fault{Kind: fault.None}
	})
	if err := r.b.Start(); err != nil {
		return err
	}
	err := r.armed(ctx, r.b)
	if err == nil {
		err = r.equal(ctx)
	}
	r.proxies[r.a].Plan(nil)
	r.check(fmt.Sprintf("%d objects of 16 KiB are copied by a syncer that was not there when they were made", count), err)
	mutex.Lock()
	defer mutex.Unlock()
	if byName > count/10 {
		err = fmt.Errorf("%d are read by name", byName)
	}
	r.check("what it does not keep of their list it reads once more by pages", err)
	most := peak(pidOf(r.b, "syncer"))
	r.check(fmt.Sprintf("and its memory is bounded: %.1f MiB at the most", most), within(most, memory))
	if _, err := r.a.Admin.Do(ctx, http.MethodDelete, rotations.Path(pair.Project, "")+"?labelSelector=long", "", nil); err != nil {
		return err
	}
	return r.equal(ctx)
}

// eightAtATime calls one for each number below count.
func eightAtATime(count int, one func(i int) error) error {
	const workers = 8
	var group sync.WaitGroup
	errs := make([]error, workers)
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < count && errs[worker] == nil; i += workers {
				errs[worker] = one(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// restart starts hub-b's processes anew: its syncer lists everything. (A syncer that is killed again
// and again is started later and later.)
func (r *run) restart(ctx context.Context) error {
	old := pidOf(r.b, "syncer")
	r.b.Restart()
	return see.Eventually(ctx, patience, func() error {
		if now := pidOf(r.b, "syncer"); now == 0 || now == old {
			return errors.New("the syncer does not come back")
		}
		return nil
	})
}

// equal waits until both hubs hold the same.
func (r *run) equal(ctx context.Context) error {
	return see.Eventually(ctx, 2*patience, func() error {
		d, err := r.compare(ctx, r.a, r.b)
		if err == nil {
			err = d.problem()
		}
		return err
	})
}

// breakLists breaks hub-a's lists that hold the word, and hub-b's syncer reads all of them.
func (r *run) breakLists(ctx context.Context, word string, times int, f fault.Fault) error {
	r.planLists(word, times, f)
	return r.restart(ctx)
}

func (r *run) planLists(word string, times int, f fault.Fault) {
	var mutex sync.Mutex
	r.proxies[r.a].Plan(func(q *http.Request) fault.Fault {
		mutex.Lock()
		defer mutex.Unlock()
		query := q.URL.Query()
		if times == 0 || query.Get("limit") == "" || query.Get("watch") != "" || !strings.Contains(q.URL.RequestURI(), word) ||
			strings.HasSuffix(q.URL.Path, "/namespaces") || f.Kind == fault.FirstPage && query.Get("continue") != "" {
			return fault.Fault{Kind: fault.None}
		}
		times--
		return f
	})
}

// manyObjects: more than a page of one kind, from a server without WatchList.
func (r *run) manyObjects(ctx context.Context) error {
	const many = 620
	sample := rowOf("SliceQoSConfig").spare
	if err := eightAtATime(many, func(i int) error {
		return r.create(ctx, qualities, named(sample, fmt.Sprint("many-", i)))
	}); err != nil {
		return err
	}
	r.check(fmt.Sprintf("%d objects of one kind are copied", many), r.equal(ctx))
	if err := r.armed(ctx, r.b); err != nil {
		return err
	}
	for _, c := range []struct {
		name, word string
		times      int
		fault      fault.Fault
	}{
		{"a second page that fails three times", "sliceqosconfigs?limit=500&continue", 3, fault.Fault{Kind: fault.Status, Code: 500}},
		{"a list that comes without its second page", "sliceqosconfigs", 2, fault.Fault{Kind: fault.FirstPage}},
		{"a list cut in the middle", "sliceqosconfigs", 2, fault.Fault{Kind: fault.Cut, Bytes: 100000}},
		{"a continue token that has expired", "continue", 1, fault.Fault{Kind: fault.Status, Code: 410}},
		{"an item without metadata", "sliceconfigs", 2, fault.Fault{Kind: fault.Edit, Field: []string{"items", "0", "metadata"}}},
		{"an item that is a number", "sliceconfigs", 2, fault.Fault{Kind: fault.Edit, Field: []string{"items", "0"}, Value: 7.0}},
	} {
		if err := r.breakLists(ctx, c.word, c.times, c.fault); err != nil {
			return err
		}
		err := r.armed(ctx, r.b)
		if err == nil {
			err = r.equal(ctx)
		}
		r.check(c.name+": nothing is lost", err)
		r.check(c.name+": and nothing was written for it", r.untouched(ctx))
	}
	if err := r.emptyLists(ctx); err != nil {
		return err
	}
	r.proxies[r.a].Plan(nil)
	err := see.Eventually(ctx, 2*patience, func() error { // a busy server does not do it in one request's time
		_, err := r.a.Admin.Do(ctx, http.MethodDelete, qualities.Path(pair.Project, "")+"?fieldSelector=metadata.name!=steady", "", nil)
		return err
	})
	if err == nil {
		err = r.equal(ctx)
	}
	r.check("as many deletions at once follow, since a watch saw them", err)
	return r.armed(ctx, r.b)
}

// untouched: the copies of the many are the ones that were made first.
func (r *run) untouched(ctx context.Context) error {
	list, err := r.b.Admin.Get(ctx, qualities.Path(pair.Project, "")+"?labelSelector="+copyLabel)
	for _, o := range list.Items() {
		if err == nil && strings.HasPrefix(o.Name(), "many-") && o.Generation() != 1 {
			err = fmt.Errorf("%s is of generation %d", o.Name(), o.Generation())
		}
	}
	return err
}

// emptyLists: a server that says with 200 that there is nothing, to a mirror that has missed a change.
func (r *run) emptyLists(ctx context.Context) error {
	path := kube.SliceConfigs.Path(pair.Project, "green")
	r.b.Kill()
	if err := r.annotated(ctx, path, "unseen", "yes"); err != nil {
		return err
	}
	r.planLists("", -1, fault.Fault{Kind: fault.Edit, Field: []string{"items"}, Value: []any{}})
	if err := r.b.Start(); err != nil {
		return err
	}
	// Whether it holds them or finds them by name: it has an opinion once no list is missing.
	err := see.Eventually(ctx, patience, func() error {
		o, err := r.b.Status(ctx)
		if err == nil && o.Int("mirror", "heldDeletes") == 0 && o.Get("mirror", "complete") != true {
			err = fmt.Errorf("mirror %v", o.Get("mirror"))
		}
		return err
	})
	kube.Pause(ctx, 2*time.Second)
	var d difference
	if err == nil {
		d, err = r.compare(ctx, r.a, r.b)
	}
	if err == nil && len(d.lost) > 0 {
		err = d.problem()
	}
	r.check("lists that are empty all of a sudden: no copy goes, the only one of its kind neither", err)
	r.proxies[r.a].Plan(nil)
	// What was found by name, though its list had lacked it, has its kind listed again after 30 s.
	r.check("with honest lists what was missed follows, and nothing is held any more", see.Eventually(ctx, 30*time.Second+patience, func() error {
		if err := r.carries(ctx, path, "unseen", "yes"); err != nil {
			return err
		}
		o, err := r.b.Status(ctx)
		if err == nil && (o.Int("mirror", "heldDeletes") != 0 || o.Get("mirror", "complete") != true) {
			err = fmt.Errorf("%d are held, complete: %v", o.Int("mirror", "heldDeletes"), o.Get("mirror", "complete"))
		}
		return err
	}))
	// No list that is still due may meet what is deleted next: what it lacks is not seen to go.
	if err := r.restart(ctx); err != nil {
		return err
	}
	return r.synced(ctx)
}
