package demo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

const (
	lagTarget     = 1.15 // median, times the floor
	lagTailTarget = 2.0  // 99th percentile, times the floor's
	lagRounds     = 200  // changes of each subject at a rate
	slowChanges   = 20   // a second
	fastChanges   = 200
	onTheirWay    = 8 // changes of each subject; a machine that is slower than the rate sees fewer, and no queue
	lagChange     = "demo/change"
)

// lagSubject is one of the two kinds that are changed in turn. Nobody but the bench looks at either,
// and their objects are of the same size: the mirror carries one over, a bare carrier the other, as the
// same identity and thus past the same policies.
type lagSubject struct {
	resource kube.Resource
	kind     string
	spec     map[string]any

	room    chan bool
	mutex   sync.Mutex
	changes int
	sent    map[string]map[int]time.Time // object -> number of a change -> when it was sent
	lags    []time.Duration
}

func recyclers() kube.Resource {
	return kube.Resource{Group: "worker.kubeslice.io", Version: "v1alpha1", Name: "workerslicegwrecyclers"}
}

const recyclerRights = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: bench-floor}
rules:
- {apiGroups: [worker.kubeslice.io], resources: [workerslicegwrecyclers], verbs: [create, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bench-floor}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bench-floor}
subjects:
- {kind: ServiceAccount, name: understudy-syncer, namespace: ` + pair.Namespace + `}
`

func (l *lagSubject) object(name string) kube.Object {
	return kube.Object{"apiVersion": "worker.kubeslice.io/v1alpha1", "kind": l.kind, "spec": l.spec,
		"metadata": map[string]any{"name": name, "labels": map[string]any{"worker-cluster": "worker-1", "original-slice-name": "green"}}}
}

// change changes one object and notes when it was asked for.
func (l *lagSubject) change(ctx context.Context, client *kube.Client, object string) error {
	l.mutex.Lock()
	l.changes++
	number := l.changes
	l.sent[object][number] = time.Now()
	l.mutex.Unlock()
	_, err := client.Merge(ctx, l.resource.Path(pair.Project, object), kube.Object{
		"metadata": map[string]any{"annotations": map[string]any{lagChange: strconv.Itoa(number)}},
	})
	return err
}

// seen takes the lag of a change that arrived, and of those before it that it overtook.
func (l *lagSubject) seen(o kube.Object) {
	now := time.Now()
	number, err := strconv.Atoi(o.Text("metadata", "annotations", lagChange))
	if err != nil {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for earlier, at := range l.sent[o.Name()] {
		if earlier <= number {
			l.lags = append(l.lags, now.Sub(at))
			<-l.room
			delete(l.sent[o.Name()], earlier)
		}
	}
}

// follow calls each for all objects and for each change, whatever becomes of a watch.
func (l *lagSubject) follow(ctx context.Context, client *kube.Client, each func(kube.Object)) {
	for ctx.Err() == nil {
		client.ListWatch(ctx, l.resource.Path(pair.Project, ""), func(all []kube.Object) error {
			for _, o := range all {
				each(o)
			}
			return nil
		}, func(e kube.Event) error {
			if e.Type == "MODIFIED" {
				each(e.Object)
			}
			return nil
		})
	}
}

// carry is the floor: each event of a watch on hub-a is one write on hub-b, on a warm connection; of
// one object one after the other.
func (s *story) carry(ctx context.Context, l *lagSubject, writer *kube.Client, copies map[string]*floorCopy) {
	room := make(chan bool, window)
	write := func(o kube.Object) {
		defer func() { <-room }()
		c, path := copies[o.Name()], l.resource.Path(pair.Project, o.Name())
		c.mutex.Lock()
		defer c.mutex.Unlock()
		for ctx.Err() == nil {
			copied := l.copied(o)
			copied["metadata"].(map[string]any)["resourceVersion"] = c.version
			got, err := writer.Update(ctx, path+"?fieldManager=before-first-apply", copied)
			if err != nil {
				got, _ = s.b.Admin.Get(ctx, path)
			}
			c.version = got.ResourceVersion()
			if err == nil {
				return
			}
		}
	}
	l.follow(ctx, s.a.Admin, func(o kube.Object) {
		room <- true
		go write(o)
	})
}

// floorCopy is what stands on hub-b.
type floorCopy struct {
	mutex   sync.Mutex
	version string
}

// copied is what a copy on hub-b says, with marks as long as the mirror's.
func (l *lagSubject) copied(o kube.Object) kube.Object {
	c := l.object(o.Name())
	metadata := c["metadata"].(map[string]any)
	metadata["labels"].(map[string]any)["ha.kubeslice.io/synced-from"] = "active"
	metadata["annotations"] = map[string]any{lagChange: o.Text("metadata", "annotations", lagChange),
		"ha.kubeslice.io/source-rv": o.ResourceVersion(), "ha.kubeslice.io/source-term": "2",
		"ha.kubeslice.io/content-hash": strings.Repeat("0", 32)}
	return c
}

// benchLag measures how long a change takes from hub-a to hub-b, beside a bare watch and one write.
func (s *story) benchLag(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	mirrored := &lagSubject{resource: imports(), kind: massKind, spec: import_("lag")["spec"].(map[string]any)}
	floor := &lagSubject{resource: recyclers(), kind: "WorkerSliceGwRecycler", spec: map[string]any{
		"sliceName": "green", "sliceGwServer": "green-worker-1-worker-2", "sliceGwClient": "green-worker-2-worker-1", "state": "init",
		"request": "verify_new_deployment_created", "gwPair": map[string]any{"clientId": "green-worker-2-1", "serverId": "green-worker-1-1"},
	}}
	if _, err := s.b.Admin.ApplyAll(ctx, recyclerRights, "default", nil); err != nil {
		return err
	}
	writer, err := s.b.Client("syncer")
	if err != nil {
		return err
	}
	defer writer.Close()
	copies, err := s.lagObjects(ctx, writer, mirrored, floor)
	if err != nil {
		return err
	}
	go mirrored.follow(ctx, s.b.Admin, mirrored.seen)
	go floor.follow(ctx, s.b.Admin, floor.seen)
	go s.carry(ctx, floor, writer, copies)
	kube.Pause(ctx, 2*time.Second)
	for _, rate := range []int{slowChanges, fastChanges} {
		if err := s.lagAt(ctx, bench{s.Out}, rate, mirrored, floor); err != nil {
			return err
		}
	}
	return nil
}

const lagObjectCount = 100

func lagObject(i int) string { return fmt.Sprint("lag-", i%lagObjectCount) }

// lagObjects makes the objects on hub-a, and the floor's copies on hub-b.
func (s *story) lagObjects(ctx context.Context, writer *kube.Client, subjects ...*lagSubject) (map[string]*floorCopy, error) {
	for _, l := range subjects {
		l.sent, l.room = map[string]map[int]time.Time{}, make(chan bool, onTheirWay)
		for i := range lagObjectCount {
			l.sent[lagObject(i)] = map[int]time.Time{}
		}
		if _, err := inFlight(lagObjectCount, func(i int) error {
			_, err := s.a.Admin.Create(ctx, l.resource.Path(pair.Project, ""), l.object(lagObject(i)))
			return err
		}); err != nil {
			return nil, err
		}
	}
	floor, copies := subjects[1], map[string]*floorCopy{}
	for i := range lagObjectCount {
		var got kube.Object
		_, err := until(ctx, patience, 100*time.Millisecond, func() (done bool) { // its right is new
			var err error
			got, err = writer.Create(ctx, floor.resource.Path(pair.Project, ""), floor.copied(floor.object(lagObject(i))))
			return err == nil
		})
		if err != nil {
			return nil, fmt.Errorf("the floor's copies: %w", err)
		}
		copies[lagObject(i)] = &floorCopy{version: got.ResourceVersion()}
	}
	_, err := until(ctx, patience, 100*time.Millisecond, func() bool {
		list, err := s.b.Admin.Get(ctx, subjects[0].resource.Path(pair.Project, ""))
		return err == nil && len(list.Items()) >= lagObjectCount
	})
	return copies, err
}

// lagAt changes both subjects in turn, at that many changes a second if the machine is fast enough.
func (s *story) lagAt(ctx context.Context, b bench, rate int, mirrored, floor *lagSubject) error {
	subjects := []*lagSubject{mirrored, floor}
	for _, l := range subjects {
		l.lags = nil
	}
	var group sync.WaitGroup
	errs := make(chan error, 2*lagRounds)
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	begin := time.Now()
	for i := range 2 * lagRounds {
		<-ticker.C
		l := subjects[(i+i/2)%2] // who is first is the other one each time round
		select {
		case l.room <- true:
		case <-time.After(patience):
			return fmt.Errorf("changes of %s at %d a second: %w", l.kind, rate, errLate)
		}
		group.Go(func() {
			if err := l.change(ctx, s.a.Admin, lagObject(i/2)); err != nil {
				errs <- err
			}
		})
	}
	group.Wait()
	if len(errs) > 0 {
		return <-errs
	}
	reached := 2 * lagRounds / time.Since(begin).Seconds()
	for _, l := range subjects {
		if _, err := until(ctx, patience, 20*time.Millisecond, func() bool {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			return len(l.lags) == lagRounds
		}); err != nil {
			return fmt.Errorf("%d of %d changes of %s at %d a second arrived: %w", len(l.lags), lagRounds, l.kind, rate, err)
		}
		slices.Sort(l.lags)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	name := func(what string) string { return fmt.Sprintf("lag_%d_%s", rate, what) }
	p50, p99 := lagRounds/2, lagRounds*99/100
	b.info(name("rate"), reached, "changes/s")
	b.info(name("floor_p50"), ms(floor.lags[p50]), "ms")
	b.info(name("p50"), ms(mirrored.lags[p50]), "ms")
	b.figure(name("p50_ratio"), ms(mirrored.lags[p50])/ms(floor.lags[p50]), "x", lagTarget)
	b.figure(name("p99_ratio"), ms(mirrored.lags[p99])/ms(floor.lags[p99]), "x", lagTailTarget)
	return nil
}
