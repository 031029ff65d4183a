package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// Targets of the figures, as the design sets them. A time is only judged beside its floor, which is
// measured in the same run.
const (
	idleTargetMiB     = 25 + 2 // all processes of a hub, one shard of repointers
	lagTarget         = 1.15   // median, times the floor
	lagTailTarget     = 2.0    // 99th percentile, times the floor's
	failoverTargetSec = 5.0
)

// bench prints figures.
type bench struct {
	out io.Writer
}

func (b bench) figure(name string, value float64, unit string, target float64) {
	verdict := "ok"
	if value > target {
		verdict = "short"
	}
	fmt.Fprintf(b.out, "bench %s %.2f %s target %.2f %s\n", name, value, unit, target, verdict)
}

func (b bench) info(name string, value float64, unit string) {
	fmt.Fprintf(b.out, "bench %s %.2f %s target - ok\n", name, value, unit)
}

// benchIdle adds up the proportional set sizes of a hub's processes while nothing happens.
func (s *story) benchIdle(ctx context.Context) error {
	kube.Pause(ctx, 2*time.Second)
	for _, h := range []*pair.Hub{s.a, s.b} {
		kib := pss(h.Daemon().Pid())
		for _, r := range h.Roles() {
			kib += pss(r.Pid)
		}
		role := map[*pair.Hub]string{s.a: "active", s.b: "standby"}[h]
		bench{s.Out}.figure("idle_memory_"+role, float64(kib)/1024, "MiB", idleTargetMiB)
	}
	return nil
}

func pss(pid int) int {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kib
		}
	}
	return 0
}

// benchLag changes one slice many times and, in turn, one object of a kind that is not mirrored,
// which a bare watch and one write carry over: the floor.
func (s *story) benchLag(ctx context.Context) error {
	const rounds = 200
	floor := recyclers()
	if err := s.floorObjects(ctx, floor); err != nil {
		return err
	}
	mirrorSeen := changes(ctx, s.b.Admin, kube.SliceConfigs.Path(pair.Project, ""))
	floorSeen := changes(ctx, s.b.Admin, floor.Path("bench", ""))
	go s.carry(ctx, floor)
	kube.Pause(ctx, time.Second)
	var mirrored, bare []time.Duration
	for i := range rounds {
		for _, one := range []struct {
			path string
			seen <-chan change
			lags *[]time.Duration
		}{
			{kube.SliceConfigs.Path(pair.Project, "blue"), mirrorSeen, &mirrored},
			{floor.Path("bench", "floor"), floorSeen, &bare},
		} {
			value := fmt.Sprint("bench-", i)
			sent := time.Now()
			if _, err := s.a.Admin.Merge(ctx, one.path, kube.Object{
				"metadata": map[string]any{"annotations": map[string]any{"demo/change": value}},
			}); err != nil {
				return err
			}
			at, err := awaitChange(ctx, one.seen, value)
			if err != nil {
				return fmt.Errorf("change %d of %s: %w", i, one.path, err)
			}
			*one.lags = append(*one.lags, at.Sub(sent))
			kube.Pause(ctx, 20*time.Millisecond)
		}
	}
	slices.Sort(mirrored)
	slices.Sort(bare)
	b := bench{s.Out}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	p50, p99 := rounds/2, rounds*99/100
	b.info("lag_floor_p50", ms(bare[p50]), "ms")
	b.info("lag_p50", ms(mirrored[p50]), "ms")
	b.figure("lag_p50_ratio", ms(mirrored[p50])/ms(bare[p50]), "x", lagTarget)
	b.figure("lag_p99_ratio", ms(mirrored[p99])/ms(bare[p99]), "x", lagTailTarget)
	return nil
}

func recyclers() kube.Resource {
	return kube.Resource{Group: "worker.kubeslice.io", Version: "v1alpha1", Name: "workerslicegwrecyclers"}
}

func (s *story) floorObjects(ctx context.Context, r kube.Resource) error {
	for _, h := range s.pair.Hubs {
		if _, err := h.Admin.ApplyAll(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: bench}\n", "default", nil); err != nil {
			return err
		}
		if _, err := h.Admin.Create(ctx, r.Path("bench", ""), kube.Object{
			"apiVersion": "worker.kubeslice.io/v1alpha1", "kind": "WorkerSliceGwRecycler",
			"metadata": map[string]any{"name": "floor"}, "spec": map[string]any{"sliceName": "floor"},
		}); err != nil {
			return err
		}
	}
	return nil
}

// carry is the floor: each event of a watch on hub-a is one write on hub-b, on a warm connection.
func (s *story) carry(ctx context.Context, r kube.Resource) {
	path := r.Path("bench", "floor")
	for ctx.Err() == nil {
		s.a.Admin.ListWatch(ctx, r.Path("bench", ""), func([]kube.Object) error { return nil }, func(e kube.Event) error {
			_, err := s.b.Admin.Merge(ctx, path, kube.Object{
				"metadata": map[string]any{"annotations": e.Object.Get("metadata", "annotations")},
			})
			return err
		})
	}
}

type change struct {
	value string
	at    time.Time
}

func changes(ctx context.Context, client *kube.Client, collection string) <-chan change {
	seen := make(chan change, 1024)
	go func() {
		for ctx.Err() == nil {
			client.ListWatch(ctx, collection, func([]kube.Object) error { return nil }, func(e kube.Event) error {
				seen <- change{e.Object.Text("metadata", "annotations", "demo/change"), time.Now()}
				return nil
			})
		}
	}()
	return seen
}

func awaitChange(ctx context.Context, seen <-chan change, value string) (time.Time, error) {
	late := time.After(patience)
	for {
		select {
		case c := <-seen:
			if c.value == value {
				return c.at, nil
			}
		case <-late:
			return time.Time{}, errLate
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}

// benchFailover prints the time from the kill to the open page, on the lease times of the run.
func (s *story) benchFailover(context.Context) error {
	total := s.result.Detection + s.result.Promotion
	bench{s.Out}.figure("failover_3s_profile", total.Seconds(), "s", failoverTargetSec)
	return nil
}
