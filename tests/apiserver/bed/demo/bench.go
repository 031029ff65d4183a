package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// benchFailover prints the time from the kill to the open page, on the lease times of the run.
func (s *story) benchFailover(context.Context) error {
	total := s.result.Detection + s.result.Promotion
	bench{s.Out}.figure("failover_3s_profile", total.Seconds(), "s", failoverTargetSec)
	return nil
}
