package replicas

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// standalone: without anybody else and without an API server the page is open while it lives.
func (s *suite) standalone(ctx context.Context) error {
	r := s.replicas[0]
	if err := os.WriteFile(r.path("alone.yaml"), []byte(r.alone()), 0o600); err != nil {
		return err
	}
	if err := r.startWith("alone.yaml"); err != nil {
		return err
	}
	if _, err := until(ctx, patience, 10*time.Millisecond, func() bool { _, open := r.page(); return open && r.workload() }); err != nil {
		return fmt.Errorf("its page and its workload: %w", err)
	}
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
		t, err := r.told()
		return err == nil && t.Code == 200 && t.Term == 1
	}); err != nil {
		t, err := r.told()
		return fmt.Errorf("it tells %+v (%v)", t, err)
	}
	if err := s.closesBesideDead(ctx, r); err != nil {
		return err
	}
	if _, err := until(ctx, patience, 10*time.Millisecond, func() bool { _, open := r.page(); return open && r.workload() }); err != nil {
		return fmt.Errorf("after its elector: %w", err)
	}
	if err := r.end(syscall.SIGTERM); err != nil {
		return err
	}
	if _, open := r.page(); open || r.workload() {
		return fmt.Errorf("after a stop: page open %v, workload %v", open, r.workload())
	}
	s.fact("mode standalone: page open and workload running without an API server; both end with it")
	return nil
}

// closesBesideDead kills a replica's elector until the page was seen closed beside it: each time its
// successor comes later, and a machine that is busy may look away until then.
func (s *suite) closesBesideDead(ctx context.Context, r *replica) error {
	for range 6 {
		pid := r.processes()["elector"]
		if pid == 0 {
			return fmt.Errorf("%s has no elector", r.name)
		}
		syscall.Kill(pid, syscall.SIGKILL)
		shut := false
		if _, err := until(ctx, patience, time.Millisecond, func() bool {
			_, open := r.page()
			shut = shut || !open
			next := r.processes()["elector"]
			return shut || next != 0 && next != pid
		}); err != nil {
			return fmt.Errorf("its page is open beside a dead elector: %w", err)
		}
		if shut {
			return nil
		}
	}
	return fmt.Errorf("its page was open beside every dead elector")
}
