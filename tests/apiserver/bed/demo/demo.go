package demo

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// patience is how long a step may take before it failed: far beyond what is right, because a busy
// machine is no fault, and because somebody may be killing processes meanwhile.
const patience = 60 * time.Second

// Options of one run.
type Options struct {
	Root, Dir string
	Bed       *cluster.Bed
	Lease     pair.Lease
	Out       io.Writer
	Check     bool
	// OnlyController kills hub-a's understudyd alone: its API server goes on answering.
	OnlyController bool
	// Containers runs each hub's understudyd as process 1 of a container.
	Containers bool
	// System, when set, is a Debian with the package; in one like it systemd runs each hub's understudyd.
	System  string
	Changes int   // how many changes the lag is the median of
	Objects []int // sizes of the mirrors that the bench makes
	Bench   bool  // measure, between the steps, and print the figures instead of the story
	// Rewrite puts what the commands of the runbook print into the page.
	Rewrite bool
	// Disturb, when set, runs beside the story until its context ends.
	Disturb func(ctx context.Context, p *pair.Pair)
}

// Result are the figures of a run.
type Result struct {
	Lag, Detection, Promotion, Repointing time.Duration
	Total                                 time.Duration
}

// story is a run under way.
type story struct {
	Options
	*timeline
	pair        *pair.Pair
	a, b        *pair.Hub
	worker      *kube.Client
	reconcilers []*pair.Process
	result      Result
}

// step is one part of the story and what it is about, for the message when it fails.
type step struct {
	name string
	run  func(*story, context.Context) error
}

var steps = []step{
	{"installing CRDs, policies, accounts and rights", (*story).install},
	{"hub-a becomes the Active", (*story).activate},
	{"hub-b becomes its Standby", (*story).standBy},
	{"worker-1 follows hub-a", (*story).join},
	{"objects follow from hub-a to hub-b", (*story).mirror},
	{"hub-b refuses writers", (*story).fence},
	{"hub-a dies and hub-b takes over", (*story).failOver},
	{"hub-b works as the Active", (*story).work},
}

// measured is the story with what make bench measures on the way.
var measured = []step{
	steps[0], steps[1], steps[2], steps[3], steps[4],
	{"idle memory", (*story).benchIdle},
	{"live lag beside its floor", (*story).benchLag},
	{"first mirror of many objects, and a restart", (*story).benchMass},
	steps[6],
	{"failover time", (*story).benchFailover},
}

// Run tells the whole story. The pair is returned also with an error, for whoever looks around;
// the caller closes it.
func Run(ctx context.Context, o Options, begin time.Time) (*pair.Pair, Result, error) {
	p, err := pair.New(o.Root, o.Dir, o.Bed, o.Lease)
	if err != nil {
		return nil, Result{}, err
	}
	s := &story{Options: o, timeline: &timeline{out: o.Out, begin: begin, check: o.Check, job: "main job"}, pair: p, a: p.Hubs[0], b: p.Hubs[1]}
	if s.worker, err = p.Work.Client(); err != nil {
		return p, Result{}, err
	}
	p.Worker.Operator = o.OnlyController
	told := steps
	if o.Bench {
		told, s.timeline.out = measured, io.Discard
	}
	if o.Containers {
		told = slices.Concat(steps[:3], contained, steps[3:], containedEnd)
		s.timeline.job = "containers"
		p.Hubs[0].Container, p.Hubs[1].Container = &pair.Container{}, &pair.Container{User: true}
	}
	if o.System != "" {
		told = slices.Concat(steps[:3], managed, steps[3:], managedEnd)
		s.timeline.job = "systemd"
		p.Hubs[0].System, p.Hubs[1].System = &pair.System{Root: o.System}, &pair.System{Root: o.System}
	}
	if o.OnlyController { // the run that is a test: what a Standby finds out about a worker, too
		told = slices.Insert(slices.Clone(steps), 5, step{"hub-b rehearses", (*story).rehearse})
		told = append(told, step{"hub-b tells of itself", (*story).tellItself})
	}
	s.fact("", "hub-a, hub-b and worker-1 are up: real kube-apiservers, RBAC on")
	for i, step := range told {
		if i == 1 && o.Disturb != nil {
			disturbed, stop := context.WithCancel(ctx)
			defer stop()
			go o.Disturb(disturbed, p)
		}
		if err := step.run(s, ctx); err != nil {
			s.endReconcilers()
			return p, s.result, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	s.endReconcilers()
	s.result.Total = time.Since(begin)
	return p, s.result, nil
}

func (s *story) endReconcilers() {
	for _, r := range s.reconcilers {
		r.End(syscall.SIGKILL, time.Second)
	}
}

func (s *story) install(ctx context.Context) error {
	if err := s.pair.Bootstrap(ctx); err != nil {
		return err
	}
	s.fact("", "installed: CRDs, policies (in force), accounts with least rights")
	return nil
}

func (s *story) reconciler(h *pair.Hub) error {
	r, err := s.pair.Start(s.reconcilerLog(h), filepath.Join(s.Root, "build/bed"), "reconcile",
		"--kubeconfig", h.Cluster.Kubeconfig(), "--hub", h.Name, "--fence", h.FencePage())
	if err == nil {
		s.reconcilers = append(s.reconcilers, r)
	}
	return err
}

func (s *story) reconcilerLog(h *pair.Hub) string {
	return filepath.Join(s.Dir, h.Name+"-reconciler.log")
}

func (s *story) activate(ctx context.Context) error {
	if err := s.a.Start(); err != nil {
		return err
	}
	at, term, err := page(ctx, s.a, true, patience)
	if fault := s.a.Fault(); fault != nil {
		return fault
	}
	if err != nil {
		return err
	}
	s.factAt(at, "hub-a", "ACTIVE: Lease held, HubRole Leading, fence page open, term %d", term)
	if err := s.workload(ctx, s.a); err != nil {
		return err
	}
	if err := s.reconciler(s.a); err != nil {
		return err
	}
	var n int
	err = s.write(ctx, func() (err error) {
		n, err = s.a.ApplySamples(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("sample objects: %w", err)
	}
	s.fact("hub-a", "%d objects of a KubeSlice project created", n)
	return nil
}

// write does what a client of a hub does. While processes are killed at random the fence may be
// closed for a moment, and whoever is refused tries again; an undisturbed Active refuses nobody.
func (s *story) write(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := do()
		if err == nil || s.Disturb == nil || !strings.Contains(err.Error(), "UNDERSTUDY_FENCE") ||
			!kube.Pause(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

// create and merge are writes of one object.
func (s *story) create(ctx context.Context, h *pair.Hub, collection string, o kube.Object) error {
	return s.write(ctx, func() error {
		_, err := h.Admin.Create(ctx, collection, o)
		return err
	})
}

func (s *story) merge(ctx context.Context, h *pair.Hub, path string, patch kube.Object) error {
	return s.write(ctx, func() error {
		_, err := h.Admin.Merge(ctx, path, patch)
		return err
	})
}

// workload waits until the hub's command runs under the uid that is the workload's.
func (s *story) workload(ctx context.Context, h *pair.Hub) error {
	var pid int
	at, err := until(ctx, patience, 5*time.Millisecond, func() bool {
		pid = h.Workload()
		return pid != 0
	})
	if err != nil {
		return fmt.Errorf("the workload: %w", err)
	}
	s.factAt(at, h.Name, "workload started by the runner: pid %d, uid %d", pid, h.WorkloadUID())
	return nil
}

func (s *story) standBy(ctx context.Context) error {
	if err := s.b.Start(); err != nil {
		return err
	}
	if err := s.reconciler(s.b); err != nil {
		return err
	}
	var copies int
	at, err := until(ctx, patience, 20*time.Millisecond, func() bool {
		copies = s.copies(ctx)
		return copies > 0 && s.b.Armed(ctx) || s.Disturb == nil && s.b.Fault() != nil
	})
	if fault := s.b.Fault(); fault != nil && s.Disturb == nil {
		return fault
	}
	if err != nil {
		return fmt.Errorf("armed and complete: %w", err)
	}
	s.factAt(at, "hub-b", "STANDBY: armed, mirror complete, %d Clusters and slices are copies", copies)
	return s.pointed(ctx, s.a)
}

// copies counts labelled objects of two kinds on hub-b.
func (s *story) copies(ctx context.Context) int {
	n := 0
	for _, r := range []kube.Resource{kube.Clusters, kube.SliceConfigs} {
		list, err := s.b.Admin.Get(ctx, r.Path("", "")+"?labelSelector=ha.kubeslice.io/synced-from%3Dactive")
		if err == nil {
			n += len(list.Items())
		}
	}
	return n
}

// pointed waits until worker-1 is told to follow a hub.
func (s *story) pointed(ctx context.Context, h *pair.Hub) error {
	seen := watch(ctx, s.worker, pair.Controllers.Path("", ""), false, func(o kube.Object) bool {
		return o.Text("spec", "identity") == h.Name
	})
	got, err := await(ctx, seen, patience)
	if err != nil {
		return fmt.Errorf("ClusterController on worker-1: %w", err)
	}
	s.factAt(got.At, "worker-1", "ClusterController/active names %s with term %d", h.Name, got.Object.Int("spec", "term"))
	return nil
}

func slice(name string) kube.Object {
	return kube.Object{
		"apiVersion": "controller.kubeslice.io/v1alpha1", "kind": "SliceConfig",
		"metadata": map[string]any{"name": name, "namespace": pair.Project},
		"spec": map[string]any{
			"sliceSubnet": "10.9.0.0/16", "clusters": []any{"worker-1"}, "maxClusters": 16,
			"sliceGatewayProvider": map[string]any{"sliceGatewayType": "OpenVPN", "sliceCaType": "Local"},
			"vpnConfig":            map[string]any{"cipher": "AES-256-CBC"},
		},
	}
}

// reconciled says that a hub's reconciler wrote the status of an object.
func reconciled(name, hub string) func(kube.Object) bool {
	return func(o kube.Object) bool {
		return o.Name() == name && slices.ContainsFunc(o.List("status", "kubesliceEvents"), func(e any) bool {
			m, ok := e.(map[string]any)
			return ok && m["identifier"] == "reconciled-by-"+hub
		})
	}
}

// mirror makes, changes and deletes a slice on hub-a and sees each follow on hub-b.
func (s *story) mirror(ctx context.Context) error {
	collection := kube.SliceConfigs.Path(pair.Project, "")
	done := watch(ctx, s.a.Admin, collection, false, reconciled("blue", "hub-a"))
	follows := watch(ctx, s.b.Admin, collection, false, reconciled("blue", "hub-a"))
	if err := s.create(ctx, s.a, collection, slice("blue")); err != nil {
		return err
	}
	got, err := await(ctx, done, patience)
	if err != nil {
		return fmt.Errorf("slice blue on hub-a is reconciled: %w", err)
	}
	s.factAt(got.At, "hub-a", "slice blue created and reconciled there")
	if got, err = await(ctx, follows, patience); err != nil {
		return fmt.Errorf("slice blue on hub-b with its status: %w", err)
	}
	s.factAt(got.At, "hub-b", "slice blue is here, its status, too")
	at, err := logged(ctx, s.reconcilerLog(s.b), "standby mode, skipping write: SliceConfig "+pair.Project+"/blue", patience)
	if err != nil {
		return fmt.Errorf("the reconciler beside hub-b skips it: %w", err)
	}
	s.factAt(at, "hub-b", "its reconciler says: standby mode, skipping write")
	if err := s.measureLag(ctx, collection); err != nil {
		return err
	}
	return s.follow(ctx, collection)
}

// measureLag changes one object many times, one after the other.
func (s *story) measureLag(ctx context.Context, collection string) error {
	var lags []time.Duration
	for i := range s.Changes {
		value := fmt.Sprint(i)
		seen := watch(ctx, s.b.Admin, collection, false, func(o kube.Object) bool {
			return o.Name() == "blue" && o.Text("metadata", "annotations", "demo/change") == value
		})
		sent := time.Now()
		if err := s.merge(ctx, s.a, kube.SliceConfigs.Path(pair.Project, "blue"), kube.Object{
			"metadata": map[string]any{"annotations": map[string]any{"demo/change": value}},
		}); err != nil {
			return err
		}
		got, err := await(ctx, seen, patience)
		if err != nil {
			return fmt.Errorf("change %d of slice blue on hub-b: %w", i, err)
		}
		lags = append(lags, got.At.Sub(sent))
	}
	slices.Sort(lags)
	s.result.Lag = lags[len(lags)/2]
	s.fact("hub-b", "%d changes of slice blue followed, median lag %d ms", len(lags), s.result.Lag.Milliseconds())
	return nil
}

// follow sees a change of the spec and a deletion.
func (s *story) follow(ctx context.Context, collection string) error {
	changed := watch(ctx, s.b.Admin, collection, false, func(o kube.Object) bool {
		return o.Name() == "blue" && o.Int("spec", "maxClusters") == 8
	})
	if err := s.merge(ctx, s.a, kube.SliceConfigs.Path(pair.Project, "blue"),
		kube.Object{"spec": map[string]any{"maxClusters": 8}}); err != nil {
		return err
	}
	got, err := await(ctx, changed, patience)
	if err != nil {
		return fmt.Errorf("the changed spec on hub-b: %w", err)
	}
	s.factAt(got.At, "hub-b", "a changed spec followed")
	if err := s.create(ctx, s.a, collection, slice("short")); err != nil {
		return err
	}
	came := watch(ctx, s.b.Admin, collection, false, named("short"))
	if _, err := await(ctx, came, patience); err != nil {
		return fmt.Errorf("slice short on hub-b: %w", err)
	}
	gone := watch(ctx, s.b.Admin, collection, true, named("short"))
	if err := s.write(ctx, func() error {
		return s.a.Admin.Delete(ctx, kube.SliceConfigs.Path(pair.Project, "short"))
	}); err != nil {
		return err
	}
	if got, err = await(ctx, gone, patience); err != nil {
		return fmt.Errorf("the deletion on hub-b: %w", err)
	}
	s.factAt(got.At, "hub-b", "a deletion followed")
	return s.equal(ctx)
}

// equal compares the hubs object by object, as an operator would.
func (s *story) equal(ctx context.Context) error {
	var out string
	_, err := until(ctx, patience, time.Second, func() bool {
		said, code, err := s.b.Ctl(ctx, 0, "sync", "diff")
		out = strings.TrimSpace(said)
		return err == nil && code == 0
	})
	if err != nil {
		return fmt.Errorf("understudyctl sync diff on hub-b: %w:\n%s", err, out)
	}
	_, said, _ := strings.Cut(out, "done: ")
	s.fact("hub-b", "understudyctl sync diff: %s", said)
	return nil
}

// fence asks the Standby's API server whether it lets even an administrator write.
func (s *story) fence(ctx context.Context) error {
	_, err := s.b.Admin.Merge(ctx, kube.SliceConfigs.Path(pair.Project, "blue"),
		kube.Object{"spec": map[string]any{"maxClusters": 4}})
	if err == nil || !kube.IsCode(err, 403) {
		return fmt.Errorf("an administrator changed a slice on a Standby: %v", err)
	}
	s.fact("hub-b", "its API server refuses an administrator's write: UNDERSTUDY_FENCE")
	if !s.Check { // a person need not wait until each process has tried everything
		return nil
	}
	for _, h := range []*pair.Hub{s.a, s.b, &s.pair.Worker.Hub} {
		if err := s.auditClean(ctx, h); err != nil {
			return err
		}
	}
	return nil
}
