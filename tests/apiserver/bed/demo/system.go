package demo

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/pair"
)

const unit = "understudyd.service"

var (
	managed = []step{
		{"what systemd knows", (*story).unitKnows},
		{"what canaries meet beneath the unit", (*story).containerCanaries},
		{"systemctl reload", (*story).unitReloads},
		{"understudyd of the Standby dies", (*story).unitRestarts},
		{"understudyd of the Standby hangs", (*story).unitWatches},
	}
	managedEnd = []step{{"systemctl stop", (*story).unitStops}}
)

// shows reads properties of the unit.
func shows(ctx context.Context, h *pair.Hub, names ...string) (map[string]string, error) {
	out, code, err := h.Systemctl(ctx, "show", unit, "--property="+strings.Join(names, ","))
	if err != nil || code != 0 {
		return nil, fmt.Errorf("%s: systemctl show: exit code %d, %w: %s", h.Name, code, err, out)
	}
	values := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = value
	}
	return values, nil
}

// unitKnows: the service is up because it said so, tells its role, and has what the unit leaves it.
func (s *story) unitKnows(ctx context.Context) error {
	for h, says := range map[*pair.Hub]string{s.a: "leading, term ", s.b: "standby"} {
		var v map[string]string
		if _, err := until(ctx, patience, 100*time.Millisecond, func() bool {
			var err error
			v, err = shows(ctx, h, "ActiveState", "SubState", "Type", "StatusText", "NRestarts", "MainPID")
			return err == nil && v["ActiveState"] == "active" && strings.HasPrefix(v["StatusText"], says)
		}); err != nil {
			return fmt.Errorf("%s: it is not active with status %q, but: %v: %w", h.Name, says, v, err)
		}
		if v["Type"] != "notify" || v["NRestarts"] != "0" {
			return fmt.Errorf("%s: %v", h.Name, v)
		}
		for name, want := range map[string]string{"CapBnd": "00000000000001e0", "NoNewPrivs": "1", "Seccomp": "2"} {
			if got := statusOf(h.Pid(), name); len(got) != 1 || got[0] != want {
				return fmt.Errorf("%s: %s of understudyd is %v, not %s", h.Name, name, got, want)
			}
		}
		s.fact(h.Name, "systemd: active (%s), status \"%s\"; four capabilities, no new privileges, the unit's filter", v["SubState"], v["StatusText"])
	}
	return nil
}

// unitReloads: it waits for the outcome, and fails when that is a refusal, which changes nothing.
func (s *story) unitReloads(ctx context.Context) error {
	pid := s.b.Pid()
	if out, code, err := s.b.Systemctl(ctx, "reload", unit); err != nil || code != 0 {
		return fmt.Errorf("systemctl reload: exit code %d, %w: %s", code, err, out)
	}
	good, err := os.ReadFile(s.b.Config())
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.b.Config(), append([]byte("surprise: true\n"), good...), 0o600); err != nil {
		return err
	}
	_, code, err := s.b.Systemctl(ctx, "reload", unit)
	if writeErr := os.WriteFile(s.b.Config(), good, 0o600); err == nil {
		err = writeErr
	}
	if err != nil || code == 0 {
		return fmt.Errorf("systemctl reload of a wrong configuration: exit code %d, %w", code, err)
	}
	v, err := shows(ctx, s.b, "ActiveState", "NRestarts")
	if err != nil || v["ActiveState"] != "active" || v["NRestarts"] != "0" || s.b.Pid() != pid {
		return fmt.Errorf("after a refused reload: %v, pid %d, was %d: %w", v, s.b.Pid(), pid, err)
	}
	s.fact("hub-b", "systemctl reload waits for the outcome; with a wrong configuration it fails, and the service goes on")
	return nil
}

// restarted waits until systemd has started understudyd anew, so many times in all.
func (s *story) restarted(ctx context.Context, last int, count string) error {
	var v map[string]string
	if _, err := until(ctx, 2*patience, 50*time.Millisecond, func() bool {
		var err error
		v, err = shows(ctx, s.b, "ActiveState", "NRestarts")
		return err == nil && v["ActiveState"] == "active" && v["NRestarts"] == count && s.b.Pid() != last
	}); err != nil {
		return fmt.Errorf("it was not started again: %v: %w", v, err)
	}
	// Whoever is left of the one before would be no child of the new one.
	if roles, all := len(s.b.Roles())+1, s.b.Orphans(); all >= roles {
		return fmt.Errorf("%d processes run under the uids of a hub with %d roles", all, roles-1)
	}
	return nil
}

// unitRestarts: SIGKILL of understudyd takes all its processes along, and systemd starts it anew.
func (s *story) unitRestarts(ctx context.Context) error {
	pid := s.b.Pid()
	begin := time.Now()
	syscall.Kill(pid, syscall.SIGKILL)
	if err := s.restarted(ctx, pid, "1"); err != nil {
		return err
	}
	s.fact("hub-b", "SIGKILL of understudyd: systemd has it ready again after %.1f s (RestartSec 2 s)", time.Since(begin).Seconds())
	return nil
}

// unitWatches: who gives no sign of life for WatchdogSec is ended and started anew.
func (s *story) unitWatches(ctx context.Context) error {
	pid := s.b.Pid()
	begin := time.Now()
	syscall.Kill(pid, syscall.SIGSTOP)
	if err := s.restarted(ctx, pid, "2"); err != nil {
		syscall.Kill(pid, syscall.SIGCONT)
		return err
	}
	s.fact("hub-b", "SIGSTOP of understudyd: systemd's watchdog (30 s) has it ready again after %.1f s", time.Since(begin).Seconds())
	return nil
}

// unitStops: the workload and all processes end in order, and that is a success.
func (s *story) unitStops(ctx context.Context) error {
	if s.b.Workload() == 0 {
		return fmt.Errorf("no workload runs on hub-b")
	}
	begin := time.Now()
	if out, code, err := s.b.Systemctl(ctx, "stop", unit); err != nil || code != 0 {
		return fmt.Errorf("systemctl stop: exit code %d, %w: %s", code, err, out)
	}
	took := time.Since(begin)
	v, err := shows(ctx, s.b, "ActiveState", "Result")
	if err != nil || v["ActiveState"] != "inactive" || v["Result"] != "success" {
		return fmt.Errorf("after systemctl stop: %v: %w", v, err)
	}
	if text, _ := os.ReadFile(s.b.Log()); !strings.Contains(string(text), "stopping: elector, workload, then the others") {
		return fmt.Errorf("it did not end in order")
	}
	if n := s.b.Orphans(); n != 0 {
		return fmt.Errorf("%d processes are left", n)
	}
	s.fact("hub-b", "systemctl stop: workload and processes ended in order after %.1f s, result success", took.Seconds())
	return nil
}
