package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// inMetrics is what hub-b's metrics say after the failover: upstream's names, with what really happened.
var inMetrics = []string{
	"kubeslice_controller_ha_leader_status 1",
	"kubeslice_controller_ha_failover_total 1",
	"kubeslice_controller_ha_failover_detection_seconds_count 1",
	`kubeslice_controller_ha_promotion_duration_seconds_count{outcome="promoted"} 1`,
	`kubeslice_controller_ha_promotion_step_duration_seconds_count{step="stop_mirror"} 1`,
	`kubeslice_controller_ha_promotion_step_duration_seconds_count{step="acquire_lease"} 1`,
	`kubeslice_controller_ha_promotion_step_duration_seconds_count{step="publish_active_controller"} 1`,
	`kubeslice_controller_ha_promotion_step_duration_seconds_count{step="kick_reconcilers"} 1`,
	`kubeslice_controller_ha_promotion_step_duration_seconds_count{step="emit_event"} 1`,
	`understudy_worker_state{worker="worker-1",state="ok"} 1`,
	`understudy_process_up{process="elector",shard=""} 1`,
	"understudy_admission_fence_ok 1",
}

// notInMetrics is what they must not say: a Standby's gauges (L114), and that copies came back (3.11).
var notInMetrics = []string{
	"\nkubeslice_controller_ha_armed{", "\nkubeslice_controller_ha_remote_lease_age_seconds{",
	"\nkubeslice_controller_ha_prune_resurrected_total{", "\nunderstudy_mirror_complete ",
}

// tellItself: the metrics, as promtool likes them, and the Events of both hubs (3.13, 3.14, L112).
func (s *story) tellItself(ctx context.Context) error {
	var text string
	var missing []string
	if _, err := until(ctx, patience, 200*time.Millisecond, func() bool {
		text, _ = metrics(s.b)
		missing = slices.DeleteFunc(slices.Clone(inMetrics), func(line string) bool {
			return strings.Contains(text, "\n"+line+"\n")
		})
		return len(missing) == 0
	}); err != nil {
		return fmt.Errorf("hub-b's metrics do not say %q: %w", missing, err)
	}
	for _, line := range notInMetrics {
		if strings.Contains(text, line) {
			return fmt.Errorf("hub-b's metrics say%s though it leads and nobody took a copy away", line)
		}
	}
	s.fact("hub-b", "its metrics tell the failover, under upstream's names")
	promtool := filepath.Join(s.Root, "build", "promtool")
	if _, err := os.Stat(promtool); err == nil {
		check := exec.CommandContext(ctx, promtool, "check", "metrics")
		check.Stdin = strings.NewReader(text)
		if out, err := check.CombinedOutput(); err != nil {
			return fmt.Errorf("promtool check metrics: %w: %s", err, out)
		}
		s.fact("hub-b", "promtool has nothing to say about them")
	}
	for _, want := range []struct {
		hub    *pair.Hub
		reason string
	}{{s.a, "BecameActive"}, {s.b, "BecameStandby"}, {s.b, "PromotedToActive"}} {
		if _, err := until(ctx, patience, 200*time.Millisecond, func() bool { return hasEvent(ctx, want.hub, want.reason) }); err != nil {
			return fmt.Errorf("no Event %s about the Lease of %s: %w", want.reason, want.hub.Name, err)
		}
	}
	s.fact("hub-a", "Events of upstream's names are about both hubs' Leases")
	return nil
}

// hasEvent: about the hub's own Lease, in the controller's namespace (L124).
func hasEvent(ctx context.Context, h *pair.Hub, reason string) bool {
	list, err := h.Admin.Get(ctx, kube.Events.Path(pair.Namespace, ""))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(list.Items(), func(e kube.Object) bool {
		return e.Text("reason") == reason && e.Text("involvedObject", "kind") == "Lease" &&
			e.Text("involvedObject", "name") == "kubeslice-controller-ha"
	})
}
