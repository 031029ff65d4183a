package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// upgraded is one hub at a time, as an operator does it: the Standby first, a switchover, the other
// hub; and back again. At every point the two hubs are of two versions, each in each role.
var upgraded = []step{
	{"the version before leads, this one mirrors", (*story).versionsMirror},
	{"a switchover to the newer version", (*story).upgradeHandsOver},
	{"both are upgraded", (*story).upgradeBoth},
	{"one is downgraded again", (*story).downgrade},
	{"a failover between versions", (*story).versionsFailOver},
}

// before is the folder of the version before, as tools/previous.sh builds it.
func (s *story) before() string { return filepath.Join(s.Root, "build/previous") }

func version(h *pair.Hub) string {
	if h.Programs != "" {
		return "the version before"
	}
	return "this version"
}

// follows makes an object on one hub and sees it on the other.
func (s *story) follows(ctx context.Context, from, to *pair.Hub, name string) error {
	collection := kube.SliceConfigs.Path(pair.Project, "")
	came := watch(ctx, to.Admin, collection, false, named(name))
	if err := s.create(ctx, from, collection, slice(name)); err != nil {
		return err
	}
	if _, err := await(ctx, came, patience); err != nil {
		return fmt.Errorf("slice %s, made on %s (%s), on %s (%s): %w", name, from.Name, version(from), to.Name, version(to), err)
	}
	s.fact(to.Name, "%s mirrors what %s serves: slice %s is here", version(to), version(from), name)
	return nil
}

// handOver is a switchover that is asked for until the Standby may take it.
func (s *story) handOver(ctx context.Context, from, to *pair.Hub) error {
	var out string
	if _, err := until(ctx, patience, 250*time.Millisecond, func() bool {
		said, code, err := from.Ctl(ctx, 0, "switchover", "--to", to.Name, "--wait")
		out = strings.TrimSpace(said)
		return err == nil && code == 0
	}); err != nil {
		return fmt.Errorf("switchover from %s (%s) to %s (%s): %w: %s", from.Name, version(from), to.Name, version(to), err, out)
	}
	if err := s.state(ctx, from, "standby"); err != nil {
		return err
	}
	// Its worker is told before its page opens, which waits for the API server to let writers in.
	if err := s.state(ctx, to, "active"); err != nil {
		return err
	}
	s.fact(to.Name, "%s handed the lead to %s", version(from), version(to))
	return s.pointed(ctx, to)
}

// replace ends a Standby in order and starts it as another build; it must be one again, and ready to
// take over from what it had recorded.
func (s *story) replace(ctx context.Context, h *pair.Hub, build string) error {
	if err := h.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if code, err := h.Await(patience); err != nil || code != 0 {
		return fmt.Errorf("%s ended with %d: %w", h.Name, code, err)
	}
	h.Programs = build
	if err := h.Start(); err != nil {
		return err
	}
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool { return h.Armed(ctx) || h.Fault() != nil }); err != nil {
		return fmt.Errorf("%s, now %s, is armed: %w", h.Name, version(h), err)
	}
	if fault := h.Fault(); fault != nil {
		return fault
	}
	s.fact(h.Name, "is %s now, armed again", version(h))
	return nil
}

func (s *story) versionsMirror(ctx context.Context) error {
	return s.follows(ctx, s.a, s.b, "one")
}

func (s *story) upgradeHandsOver(ctx context.Context) error {
	if err := s.handOver(ctx, s.a, s.b); err != nil {
		return err
	}
	return s.follows(ctx, s.b, s.a, "two")
}

func (s *story) upgradeBoth(ctx context.Context) error {
	if err := s.replace(ctx, s.a, ""); err != nil {
		return err
	}
	return s.handOver(ctx, s.b, s.a)
}

func (s *story) downgrade(ctx context.Context) error {
	if err := s.replace(ctx, s.b, s.before()); err != nil {
		return err
	}
	if err := s.handOver(ctx, s.a, s.b); err != nil {
		return err
	}
	return s.follows(ctx, s.b, s.a, "three")
}

// versionsFailOver kills the older version while it leads.
func (s *story) versionsFailOver(ctx context.Context) error {
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool { return s.a.Armed(ctx) }); err != nil {
		return fmt.Errorf("hub-a is armed: %w", err)
	}
	s.b.Kill()
	if err := s.state(ctx, s.a, "active"); err != nil {
		return err
	}
	s.fact("hub-a", "this version took over from the one before, which was killed")
	return s.pointed(ctx, s.a)
}
