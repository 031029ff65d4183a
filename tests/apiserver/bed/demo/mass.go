package demo

import (
	"context"
	"errors"
	"fmt"
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
	massPatience    = 300 * time.Second
	massKind        = "WorkerServiceImport"
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

// bareWriter takes the copies away and writes the same bodies as the same identity to the same
// server, knowing nothing of a source: the floor of a first mirror. It returns the time it took.
func (s *story) bareWriter(ctx context.Context, prefix string, n int) (time.Duration, error) {
	bodies, err := s.bodies(ctx, prefix)
	if err != nil {
		return 0, err
	}
	if len(bodies) != n {
		return 0, fmt.Errorf("the mirror is complete with %d copies of %d", len(bodies), n)
	}
	writer, err := s.b.Client("syncer")
	if err != nil {
		return 0, err
	}
	defer writer.Close()
	path := func(i int) string { return imports().Path(pair.Project, bodies[i].Name()) }
	if _, err := inFlight(n, func(i int) error { return writer.Delete(ctx, path(i)) }); err != nil {
		return 0, err
	}
	return inFlight(n, func(i int) error {
		_, err := writer.Create(ctx, imports().Path(pair.Project, "")+"?fieldManager=before-first-apply", bodies[i])
		return err
	})
}

// benchMass mirrors many objects into a hub that lacks them, beside a bare writer of the same bodies
// to the same server; then it restarts with everything equal. The mirror's own log tells the time:
// whoever asks the server how far it is slows it down.
func (s *story) benchMass(ctx context.Context) error {
	b := bench{s.Out}
	for _, n := range slices.Compact(s.Objects) {
		s.b.Kill()
		prefix := fmt.Sprintf("m%d-", n)
		if _, err := inFlight(n, func(i int) error {
			_, err := s.a.Admin.Create(ctx, imports().Path(pair.Project, ""), import_(prefix+strconv.Itoa(i)))
			return err
		}); err != nil {
			return err
		}
		offset := len(readFile(s.b.Log()))
		if err := s.b.Start(); err != nil {
			return err
		}
		var took time.Duration
		if _, err := until(ctx, massPatience, 100*time.Millisecond, func() bool {
			log := readFile(s.b.Log())[offset:]
			from, to := logTime(log, "the source is the one that was granted"), logTime(log, ": complete, ")
			took = to.Sub(from)
			return !from.IsZero() && !to.IsZero()
		}); err != nil {
			return fmt.Errorf("%d copies: %w", n, err)
		}
		s.b.Kill()
		bare, err := s.bareWriter(ctx, prefix, n)
		if err != nil {
			return fmt.Errorf("the bare writer: %w", err)
		}
		b.info(fmt.Sprintf("mirror_rate_%d", n), float64(n)/took.Seconds(), "objects/s")
		b.info(fmt.Sprintf("mirror_rate_bare_%d", n), float64(n)/bare.Seconds(), "objects/s")
		b.atLeast(fmt.Sprintf("mirror_rate_ratio_%d", n), bare.Seconds()/took.Seconds(), "x", rateTarget)
	}
	if err := s.b.Start(); err != nil {
		return err
	}
	return s.benchRestart(ctx, b)
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
	if _, err := until(ctx, massPatience, 50*time.Millisecond, func() bool { return s.b.Armed(ctx) }); err != nil {
		return err
	}
	kube.Pause(ctx, 2*time.Second)
	b.figure(fmt.Sprintf("mirror_memory_%d", s.Objects[len(s.Objects)-1]), float64(s.syncerKiB())/1024, "MiB", memoryTargetMiB)
	s.b.Kill()
	begin := time.Now()
	for _, h := range s.pair.Hubs {
		if _, err := h.Admin.Get(ctx, imports().Path("", "")); err != nil {
			return err
		}
	}
	lists := time.Since(begin)
	offset := len(readFile(s.b.Log()))
	if err := s.b.Start(); err != nil {
		return err
	}
	var took time.Duration
	if _, err := until(ctx, massPatience, 20*time.Millisecond, func() bool {
		from := logTime(readFile(s.b.Log())[offset:], "mirroring ")
		to := logTime(readFile(s.b.Log())[offset:], ": complete, ")
		took = to.Sub(from)
		return !from.IsZero() && !to.IsZero()
	}); err != nil {
		return fmt.Errorf("complete after a restart: %w", err)
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

func (s *story) syncerKiB() int {
	for _, r := range s.b.Roles() {
		if r.Name == "syncer" {
			return pss(r.Pid)
		}
	}
	return 0
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
