package demo

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/pair"
)

// lacking are machines that lack something that allow-missing may name, and what an audit calls
// waived there.
var lacking = []struct {
	lacks, waived []string
}{
	{[]string{pair.LandlockFS, pair.BoundingSet, pair.Mlock}, []string{"capabilities bounding", "landlock-fs", "mlock"}},
	{[]string{pair.UIDSeparation, pair.BoundingSet}, []string{"capabilities bounding", "gid", "uid"}},
	{[]string{pair.UIDSeparation}, []string{"gid", "uid"}},
}

// restartLacking ends hub-b's understudyd in order and starts it on a machine that lacks something.
func (s *story) restartLacking(refuses bool, lacks ...string) error {
	if s.b.Fault() == nil {
		if err := s.b.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		if code, err := s.b.Await(patience); err != nil || code != 0 {
			return fmt.Errorf("hub-b ends with exit code %d, %w", code, err)
		}
	}
	s.b.Lacks, s.b.Refuses = lacks, refuses
	if err := s.b.Place(); err != nil {
		return err
	}
	return s.b.Start()
}

// startRefused starts hub-b's understudyd where something is missing that must be there, and demands
// that it says so.
func (s *story) startRefused(text string, lacks ...string) error {
	if err := s.restartLacking(true, lacks...); err != nil {
		return err
	}
	code, err := s.b.Await(patience)
	log, _ := os.ReadFile(s.b.Log())
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	if last := lines[len(lines)-1]; err != nil || code != 1 || !strings.Contains(last, text) {
		return fmt.Errorf("hub-b without %s: exit code %d, %w, and no %q in: %s", strings.Join(lacks, ", "), code, err, text, last)
	}
	return nil
}

// waiversHold: what allow-missing may name does not keep a Standby from its work; an audit and one with
// canaries call it waived, and nothing else (F27, F26).
func (s *story) waiversHold(ctx context.Context) error {
	if err := s.startRefused("`workload:` needs it", pair.UIDSeparation); err != nil {
		return err
	}
	for _, machine := range lacking {
		if err := s.restartLacking(false, machine.lacks...); err != nil {
			return err
		}
		if _, err := until(ctx, patience, 20*time.Millisecond, func() bool { return s.b.Armed(ctx) || s.b.Fault() != nil }); err != nil || s.b.Fault() != nil {
			return fmt.Errorf("hub-b without %s: armed: %w, %v", strings.Join(machine.lacks, ", "), err, s.b.Fault())
		}
		if err := s.auditClean(ctx, s.b); err != nil {
			return err
		}
		o, _, err := auditOf(ctx, s.b, "--deep")
		if err != nil || len(rowsWith(o, "finding")) > 0 {
			return fmt.Errorf("hub-b without %s: audit --deep: %w: %q", strings.Join(machine.lacks, ", "), err, rowsWith(o, "finding"))
		}
		waived := map[string]bool{}
		for _, row := range rowsWith(o, "waived") {
			_, what, _ := strings.Cut(row, ": ")
			waived[what] = true
		}
		if got := slices.Sorted(maps.Keys(waived)); !slices.Equal(got, machine.waived) {
			return fmt.Errorf("hub-b without %s: audit waives %q, not %q", strings.Join(machine.lacks, ", "), got, machine.waived)
		}
		s.fact("hub-b", "STANDBY without %s: armed, audit waives %s in %d rows, canaries find nothing",
			strings.Join(machine.lacks, ", "), strings.Join(machine.waived, ", "), len(rowsWith(o, "waived")))
	}
	return nil
}

// oneUID: with one uid for all hub-b takes over, leads, and leads again after a crash of all of it.
func (s *story) oneUID(ctx context.Context) error {
	for _, role := range s.b.Roles() {
		if role.UID != 0 {
			return fmt.Errorf("hub-b's %s has uid %d", role.Name, role.UID)
		}
	}
	s.a.Kill()
	s.a.Cluster.Kill(cluster.ControlPlane...)
	at, term, err := page(ctx, s.b, true, patience)
	if err != nil {
		return fmt.Errorf("hub-b takes over: %w", err)
	}
	s.factAt(at, "hub-b", "with one uid for all it takes over, term %d", term)
	s.b.Kill()
	if _, _, err := page(ctx, s.b, false, patience); err != nil {
		return fmt.Errorf("hub-b's page runs out: %w", err)
	}
	if err := s.b.Start(); err != nil {
		return err
	}
	at, again, err := page(ctx, s.b, true, patience)
	if err != nil || again < term {
		return fmt.Errorf("hub-b leads again: term %d after %d, %w", again, term, err)
	}
	s.factAt(at, "hub-b", "killed and started again it leads with term %d", again)
	return nil
}
