package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/pair"
)

var (
	contained = []step{
		{"what a container may do", (*story).containerRights},
		{"what canaries meet in a container", (*story).containerCanaries},
		{"strangers in a container", (*story).strangers},
		{"a reload in a container", (*story).containerReload},
	}
	containedEnd = []step{{"a container is ended", (*story).containerEnds}}
)

// statusOf reads the words behind a name in /proc/PID/status.
func statusOf(pid int, name string) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Fields(rest)
		}
	}
	return nil
}

// containerRights sees that process 1 has the four capabilities and nothing else, on both hubs, and
// that the two containers differ in whose root it is (F26).
func (s *story) containerRights(ctx context.Context) error {
	const four = "00000000000001e0" // KILL, SETGID, SETUID, SETPCAP
	for i, h := range s.pair.Hubs {
		pid := h.Pid()
		for name, want := range map[string]string{
			"CapBnd": four, "CapPrm": four, "CapEff": four, "CapInh": "0000000000000000", "CapAmb": "0000000000000000", "NoNewPrivs": "1",
		} {
			if got := statusOf(pid, name); !slices.Equal(got, []string{want}) {
				return fmt.Errorf("%s: %s of process 1 is %v, not %s", h.Name, name, got, want)
			}
		}
		if inner := statusOf(pid, "NSpid"); len(inner) != 2 || inner[1] != "1" {
			return fmt.Errorf("%s: it is not process 1 of its container: %v", h.Name, inner)
		}
		if uid := statusOf(pid, "Uid")[0]; (uid == "0") != (i == 0) {
			return fmt.Errorf("%s: process 1 is uid %s of the host", h.Name, uid)
		}
		if _, err := h.Exec("/usr/bin/sh", "-c", ": >/usr/bin/new"); err == nil || !strings.Contains(err.Error(), "Read-only file system") {
			return fmt.Errorf("%s: its root can be written: %v", h.Name, err)
		}
	}
	s.fact("", "both hubs' understudyds are process 1 of containers: four capabilities, no new privileges, read-only root")
	s.fact("", "hub-a's container has the host's users, hub-b's a user namespace: its root is uid %s", statusOf(s.b.Pid(), "Uid")[0])
	return nil
}

// children are the children of a process that bear a name, the dead that wait to be reaped included.
func children(parent int, name string) (pids []int) {
	for p := range pair.Procs {
		if p.Number("PPid") == parent && p.Field("Name") == name {
			pids = append(pids, p.Pid)
		}
	}
	return pids
}

// containerCanaries: beneath a runtime's own filter, with four capabilities and in a user namespace,
// each row holds as it does outside.
func (s *story) containerCanaries(ctx context.Context) error {
	for _, h := range s.pair.Hubs {
		if err := s.auditDeep(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// strangers leaves processes behind in each container: process 1 inherits them, and reaps them when
// they end.
func (s *story) strangers(ctx context.Context) error {
	const count = 5
	for _, h := range s.pair.Hubs {
		if _, err := h.Exec("/usr/bin/sh", "-c", "for i in 1 2 3 4 5; do /usr/bin/sleep 10000 >/dev/null 2>&1 & done"); err != nil {
			return err
		}
		if _, err := until(ctx, patience, 20*time.Millisecond, func() bool { return len(children(h.Pid(), "sleep")) == count }); err != nil {
			return fmt.Errorf("%s: process 1 inherited %d of %d orphans: %w", h.Name, len(children(h.Pid(), "sleep")), count, err)
		}
		for _, pid := range children(h.Pid(), "sleep") {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if _, err := until(ctx, patience, 20*time.Millisecond, func() bool { return len(children(h.Pid(), "sleep")) == 0 }); err != nil {
			return fmt.Errorf("%s: %d dead orphans were not reaped: %w", h.Name, len(children(h.Pid(), "sleep")), err)
		}
		s.fact(h.Name, "process 1 inherited %d strangers, and reaped them when they died", count)
	}
	return nil
}

// containerReload sends SIGHUP through the container runtime, and asks inside, as an operator would.
func (s *story) containerReload(ctx context.Context) error {
	for _, h := range s.pair.Hubs {
		at := time.Now()
		if err := h.Signal(syscall.SIGHUP); err != nil {
			return err
		}
		if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
			o, err := h.Status(ctx)
			return err == nil && o.Int("reload", "count") == 1 && o.Get("reload", "done") == true
		}); err != nil {
			return fmt.Errorf("%s: SIGHUP through crun: %w", h.Name, err)
		}
		out, err := h.Exec("/usr/bin/understudyctl", "reload")
		if err != nil || !strings.Contains(out, "reloaded") {
			return fmt.Errorf("%s: understudyctl reload inside: %w: %s", h.Name, err, out)
		}
		s.fact(h.Name, "SIGHUP through crun and understudyctl inside both had it reloaded (%d ms)", time.Since(at).Milliseconds())
	}
	return nil
}

// containerEnds ends hub-b's container as a runtime does: SIGTERM to process 1.
func (s *story) containerEnds(ctx context.Context) error {
	workload := s.b.Workload()
	if workload == 0 {
		return fmt.Errorf("no workload runs on hub-b")
	}
	if err := s.b.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	code, err := s.b.Await(patience)
	if err != nil || code != 0 {
		return fmt.Errorf("SIGTERM through crun: exit code %d, %w", code, err)
	}
	text, _ := os.ReadFile(s.b.Log())
	if !strings.Contains(string(text), "stopping: elector, workload, then the others") {
		return fmt.Errorf("it did not end in order: %s", filepath.Base(s.b.Log()))
	}
	if n := s.b.Orphans(); n != 0 {
		return fmt.Errorf("%d processes are left", n)
	}
	s.fact("hub-b", "SIGTERM through crun ended it in order, workload (pid %d) included: exit code 0", workload)
	return nil
}
