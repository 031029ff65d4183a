package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

const (
	window          = 16   // requests in flight, of the mirror and of the bare writer
	rateTarget      = 0.95 // of the bare writer's; a figure falls short below it
	restartTarget   = 1.5  // times the bare lists of both hubs
	memoryTargetMiB = 16   // of the syncer with 10,000 objects
	manyTargetMiB   = 48   // with 100,000
	builtTargetSec  = 1200 // until a server has 100,000 objects
	growthTarget    = 1.1  // time for an object among many, times that among few, by as much as the bare writer's grows
	massPatience    = 300 * time.Second
	// More for each object, on the slowest machine that the bench should end on.
	massPatienceEach = 20 * time.Millisecond
	massPage         = 10000
	massKind         = "WorkerServiceImport"
)

func imports() kube.Resource {
	return kube.Resource{Group: "worker.kubeslice.io", Version: "v1alpha1", Name: "workerserviceimports"}
}

// import_ is an object of the size that a service of a slice has; it has no status.
func import_(name string) kube.Object {
	return kube.Object{
		"apiVersion": "worker.kubeslice.io/v1alpha1", "kind": massKind,
		"metadata": map[string]any{"name": name, "labels": map[string]any{"worker-cluster": "worker-1", "original-slice-name": "green"}},
		"spec": map[string]any{"serviceName": name, "serviceNamespace": "shop", "sliceName": "green", "sourceClusters": []any{"worker-1"},
			"serviceDiscoveryPorts": []any{map[string]any{"name": "grpc", "protocol": "TCP", "port": 8443, "servicePort": 443}}},
	}
}

// inFlight calls one for each number below n, with a window of calls in flight, and returns the time
// that they took.
func inFlight(n int, one func(i int) error) (time.Duration, error) {
	var group sync.WaitGroup
	next := make(chan int)
	errs := make([]error, window)
	begin := time.Now()
	for w := range window {
		group.Go(func() {
			for i := range next {
				if err := one(i); err != nil && errs[w] == nil {
					errs[w] = err
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return time.Since(begin), errors.Join(errs...)
}

// bodies are hub-b's copies with the prefix, as bodies to create them anew.
func (s *story) bodies(ctx context.Context, prefix string) ([]kube.Object, error) {
	list, err := s.b.Admin.Get(ctx, imports().Path(pair.Project, ""))
	if err != nil {
		return nil, err
	}
	var bodies []kube.Object
	for _, o := range list.Items() {
		if !strings.HasPrefix(o.Name(), prefix) {
			continue
		}
		o["apiVersion"], o["kind"] = "worker.kubeslice.io/v1alpha1", massKind
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
			delete(o["metadata"].(map[string]any), field)
		}
		bodies = append(bodies, o)
	}
	return bodies, nil
}

// cost is what a number of objects took: time, processor time of who wrote them, and of the server.
type cost struct {
	whole, writing time.Duration
	own, server    time.Duration
}

// takeAway deletes the copies on hub-b with the prefix, as the identity that wrote them, and returns
// their bodies.
func (s *story) takeAway(ctx context.Context, writer *kube.Client, prefix string) ([]kube.Object, error) {
	bodies, err := s.bodies(ctx, prefix)
	if err != nil {
		return nil, err
	}
	_, err = inFlight(len(bodies), func(i int) error {
		return writer.Delete(ctx, imports().Path(pair.Project, bodies[i].Name()))
	})
	return bodies, err
}

// bareWriter takes the copies away and writes the same bodies as the same identity to the same
// server, knowing nothing of a source: the floor of a first mirror.
func (s *story) bareWriter(ctx context.Context, writer *kube.Client, prefix string, n int) (c cost, err error) {
	bodies, err := s.takeAway(ctx, writer, prefix)
	if err != nil {
		return c, err
	}
	if len(bodies) != n {
		return c, fmt.Errorf("the mirror is complete with %d copies of %d", len(bodies), n)
	}
	self, server := spent(os.Getpid()), spent(s.b.Cluster.Pids()...)
	c.writing, err = inFlight(n, func(i int) error {
		_, err := writer.Create(ctx, imports().Path(pair.Project, "")+"?fieldManager=before-first-apply", bodies[i])
		return err
	})
	c.whole, c.own, c.server = c.writing, spent(os.Getpid())-self, spent(s.b.Cluster.Pids()...)-server
	return c, err
}

// untilComplete starts hub-b and returns how long its mirror took to be complete: whole, from when it may
// begin, and from when it may write. Its own log tells the time: whoever asks the server how far it is
// slows it down. That the hub is armed says nothing of it: the record outlives a process (C5).
func (s *story) untilComplete(ctx context.Context, n int) (whole, writing time.Duration, err error) {
	offset := len(readFile(s.b.Log()))
	if err := s.b.Start(); err != nil {
		return 0, 0, err
	}
	_, err = until(ctx, massPatience+time.Duration(n)*massPatienceEach, 100*time.Millisecond, func() bool {
		log := readFile(s.b.Log())[offset:]
		from, may, to := logTime(log, "mirroring "), logTime(log, "the source is the one that was granted"), logTime(log, ": complete, ")
		whole, writing = to.Sub(from), to.Sub(may)
		return !from.IsZero() && !may.IsZero() && !to.IsZero()
	})
	if err != nil {
		err = fmt.Errorf("a mirror of %d objects: %w", n, err)
	}
	return whole, writing, err
}

// firstMirror has hub-b, which lacks the objects, copy them all.
func (s *story) firstMirror(ctx context.Context, n int) (c cost, err error) {
	server := spent(s.b.Cluster.Pids()...)
	if c.whole, c.writing, err = s.untilComplete(ctx, n); err != nil {
		return c, err
	}
	c.own, c.server = spent(s.syncers()...), spent(s.b.Cluster.Pids()...)-server
	return c, nil
}

// spent is the processor time of processes so far.
func spent(pids ...int) (sum time.Duration) {
	for _, pid := range pids {
		text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		for _, i := range []int{11, 12} { // utime, stime; hundredths of a second on each Linux
			if len(fields) > i {
				ticks, _ := strconv.Atoi(fields[i])
				sum += time.Duration(ticks) * 10 * time.Millisecond
			}
		}
	}
	return sum
}

// massRounds is how often a size is measured, mirror and bare writer in turn: what takes seconds is at
// the mercy of whatever else the machine does.
func massRounds(n int) int { return max(1, min(3, 5000/n)) }

const many = 50000 // objects, from which on the targets are those of 100,000

// benchMass mirrors many objects into a hub that lacks them, beside a bare writer of the same bodies
// to the same server; then it restarts with everything equal.
func (s *story) benchMass(ctx context.Context) error {
	b := bench{s.Out}
	writer, err := s.b.Client("syncer")
	if err != nil {
		return err
	}
	defer writer.Close()
	var firstMirror, firstBare float64
	s.Objects = slices.Compact(s.Objects)
	for _, n := range s.Objects {
		s.b.Kill()
		prefix := fmt.Sprintf("m%d-", n)
		built, err := inFlight(n, func(i int) error {
			_, err := s.a.Admin.Create(ctx, imports().Path(pair.Project, ""), import_(prefix+strconv.Itoa(i)))
			return err
		})
		if err != nil {
			return err
		}
		var mirror, bare cost
		var memory float64
		rounds := massRounds(n)
		for round := range rounds {
			if round > 0 {
				if _, err := s.takeAway(ctx, writer, prefix); err != nil {
					return err
				}
			}
			one, err := s.firstMirror(ctx, n)
			if err != nil {
				return err
			}
			mirror.add(one)
			memory = s.syncerMiB("smaps_rollup", "Pss:")
			s.b.Kill()
			if one, err = s.bareWriter(ctx, writer, prefix, n); err != nil {
				return fmt.Errorf("the bare writer: %w", err)
			}
			bare.add(one)
		}
		name := func(what string) string { return fmt.Sprintf("mirror_%s_%d", what, n) }
		each := func(d time.Duration) float64 { return d.Seconds() / float64(n*rounds) }
		b.info(name("rate"), 1/each(mirror.writing), "objects/s")
		b.info(name("cpu"), 1000*each(mirror.own), "ms/object")
		b.info(name("rate_bare"), 1/each(bare.writing), "objects/s")
		b.atLeast(name("rate_ratio"), bare.writing.Seconds()/mirror.writing.Seconds(), "x", rateTarget)
		b.atLeast(name("whole_ratio"), bare.whole.Seconds()/mirror.whole.Seconds(), "x", rateTarget)
		b.info(name("cpu_bare"), 1000*each(bare.own), "ms/object")
		b.info(name("server_cpu_ratio"), mirror.server.Seconds()/bare.server.Seconds(), "x")
		if n >= many {
			b.figure(name("built"), built.Seconds(), "s", builtTargetSec)
			b.figure(name("first_memory"), memory, "MiB", manyTargetMiB)
		}
		if firstMirror == 0 {
			firstMirror, firstBare = each(mirror.writing), each(bare.writing)
			continue
		}
		grown, server := each(mirror.writing)/firstMirror, each(bare.writing)/firstBare
		b.info(name("growth"), grown, "x")
		b.info(name("growth_bare"), server, "x")
		b.figure(name("growth_ratio"), grown/server, "x", growthTarget)
	}
	return s.benchRestart(ctx, b)
}

func (c *cost) add(one cost) {
	c.whole += one.whole
	c.writing += one.writing
	c.own += one.own
	c.server += one.server
}

// atLeast is a figure that falls short when it is small.
func (b bench) atLeast(name string, value float64, unit string, target float64) {
	verdict := "ok"
	if value < target {
		verdict = "short"
	}
	fmt.Fprintf(b.out, "bench %s %.2f %s target %.2f %s\n", name, value, unit, target, verdict)
}

func (s *story) benchRestart(ctx context.Context, b bench) error {
	n := s.Objects[len(s.Objects)-1]
	if _, _, err := s.untilComplete(ctx, n); err != nil {
		return err
	}
	kube.Pause(ctx, 2*time.Second)
	target := float64(memoryTargetMiB)
	if n >= many {
		target = manyTargetMiB
	}
	// What it adds to the machine; what it maps of the libraries that all processes share is in the RSS.
	b.figure(fmt.Sprintf("mirror_memory_%d", n), s.syncerMiB("smaps_rollup", "Pss:"), "MiB", target)
	b.info(fmt.Sprintf("mirror_memory_rss_%d", n), s.syncerMiB("status", "VmRSS:"), "MiB")
	b.info(fmt.Sprintf("mirror_memory_peak_rss_%d", n), s.syncerMiB("status", "VmHWM:"), "MiB")
	s.b.Kill()
	begin := time.Now()
	for _, h := range s.pair.Hubs {
		if err := bareList(ctx, h.Admin); err != nil {
			return err
		}
	}
	lists := time.Since(begin)
	took, _, err := s.untilComplete(ctx, n)
	if err != nil {
		return err
	}
	o, err := s.b.Status(ctx)
	if err != nil {
		return err
	}
	b.figure("mirror_restart_writes", float64(o.Int("mirror", "written")), "writes", 0)
	b.info("mirror_restart_seconds", took.Seconds(), "s")
	b.figure("mirror_restart_ratio", took.Seconds()/lists.Seconds(), "x", restartTarget)
	return nil
}

// bareList reads all objects: what a restart cannot do without.
func bareList(ctx context.Context, client *kube.Client) error {
	for token := ""; ; {
		list, err := client.Get(ctx, imports().Path("", "")+fmt.Sprintf("?limit=%d&continue=%s", massPage, token))
		if err != nil {
			return err
		}
		if token = list.Text("metadata", "continue"); token == "" {
			return nil
		}
	}
}

// syncers is hub-b's syncer.
func (s *story) syncers() (pids []int) {
	for _, r := range s.b.Roles() {
		if r.Name == "syncer" {
			pids = append(pids, r.Pid)
		}
	}
	return pids
}

// syncerMiB is a line of a file in /proc/PID of hub-b's syncer.
func (s *story) syncerMiB(file, line string) float64 {
	for _, pid := range s.syncers() {
		for text := range strings.Lines(readFile(filepath.Join("/proc", strconv.Itoa(pid), file))) {
			if rest, ok := strings.CutPrefix(text, line); ok {
				kib, _ := strconv.Atoi(strings.Fields(rest)[0])
				return float64(kib) / 1024
			}
		}
	}
	return math.NaN()
}

func readFile(path string) string {
	text, _ := os.ReadFile(filepath.Clean(path))
	return string(text)
}

// logTime is the time of the first line that holds the word.
func logTime(text, word string) time.Time {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			at, _ := time.Parse("2006-01-02T15:04:05.000Z", strings.TrimPrefix(strings.Fields(line)[0], "time="))
			return at
		}
	}
	return time.Time{}
}
