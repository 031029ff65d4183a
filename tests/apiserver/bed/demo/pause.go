package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/fault"
	"understudy.test/bed/kube"
)

// pauseHolds kills hub-a's understudyd beside a paused hub-b.
func (s *story) pauseHolds(ctx context.Context) error {
	for _, words := range [][]string{{"pause", "--for", "5h"}, {"pause", "--for", "0s"}} {
		if _, err := s.ctl(ctx, s.b, 1, "NO  for", words...); err != nil {
			return err
		}
	}
	if _, err := s.ctl(ctx, s.a, 1, "NO  state of this hub", "pause", "--for", "30m"); err != nil {
		return err
	}
	if _, err := s.ctl(ctx, s.b, 0, "paused for 1800 s", "pause", "--for", "30m"); err != nil {
		return err
	}
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
		o, err := lease(ctx, s.b)
		return err == nil && o.Text("metadata", "annotations", "ha.kubeslice.io/paused-until") != ""
	}); err != nil {
		return fmt.Errorf("paused-until on hub-b's Lease: %w", err)
	}
	s.a.Kill()
	if _, err := logged(ctx, s.b.Log(), "would promote", patience); err != nil {
		return fmt.Errorf("hub-b says that it would promote: %w", err)
	}
	kube.Pause(ctx, 8*time.Second) // two thresholds more
	if _, leads := leading(s.b); leads {
		return fmt.Errorf("hub-b was promoted although it is paused")
	}
	if err := s.inMetricsOf(ctx, s.b, "understudy_paused 1\n", `promotions_aborted_total{reason="paused"}`); err != nil {
		return err
	}
	if _, err := s.ctlSoon(ctx, s.b, 0, "no automatic promotion: paused for another", "status"); err != nil {
		return err
	}
	s.fact("hub-b", "paused: hub-a's understudyd is dead for 3 thresholds, hub-b says that it would promote, and does not")
	return nil
}

// strangeLeases shows hub-b Leases of hub-a that no understudy writes.
func (s *story) strangeLeases(ctx context.Context) error {
	elector, observer := s.pid(s.b, "elector"), s.pid(s.b, "observer")
	spec := func(key string, value any) kube.Object { return kube.Object{"spec": map[string]any{key: value}} }
	note := func(key string, value any) kube.Object {
		return kube.Object{"metadata": map[string]any{"annotations": map[string]any{"ha.kubeslice.io/" + key: value}}}
	}
	before, err := lease(ctx, s.a)
	if err != nil {
		return err
	}
	annotations := func(key string) any { return before.Get("metadata", "annotations", "ha.kubeslice.io/"+key) }
	for _, strange := range []struct {
		name       string
		patch, fix kube.Object
		class      string
	}{
		{"renewTime in the year 9999", spec("renewTime", "9999-12-31T23:59:59.999999Z"), nil, "ok"},
		{"renewTime in 1970", spec("renewTime", "1970-01-01T00:00:00.000000Z"), nil, "ok"},
		{"no renewTime", spec("renewTime", nil), nil, "ok"},
		{"no duration", spec("leaseDurationSeconds", nil), nil, "ok"},
		{longLease, spec("leaseDurationSeconds", 2147483647), spec("leaseDurationSeconds", 3), "ok"},
		{"a holder with spaces", spec("holderIdentity", " hub a "), spec("holderIdentity", "hub-a"), "ok"},
		{"term 2^53+1", note("term", "9007199254740993"), note("term", annotations("term")), "blind"},
		{"term -1", note("term", "-1"), note("term", annotations("term")), "blind"},
		{"led-term 1e3", note("led-term", "1e3"), note("led-term", annotations("led-term")), "blind"},
		{"a phase of nowhere", note("phase", "flying"), note("phase", annotations("phase")), "blind"},
		{"an instance of 3 digits", note("instance", "abc"), note("instance", annotations("instance")), "blind"},
		{"a handover that is a list", note("handover", "[]"), note("handover", nil), "ok"},
		{"annotations at their limit", kube.Object{"metadata": map[string]any{"annotations": map[string]any{"x": strings.Repeat("y", 250000)}}},
			kube.Object{"metadata": map[string]any{"annotations": map[string]any{"x": nil}}}, "ok"},
	} {
		if _, err := s.a.Admin.Merge(ctx, leasePath, strange.patch); err != nil {
			return fmt.Errorf("%s: %w", strange.name, err)
		}
		kube.Pause(ctx, 600*time.Millisecond) // a look, at least
		var class string
		if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
			o, err := s.b.Status(ctx)
			class = o.Text("peer", "class")
			return err == nil && class == strange.class
		}); err != nil {
			return fmt.Errorf("%s: the peer is %q to hub-b, want %q", strange.name, class, strange.class)
		}
		if strange.name == longLease {
			if err := s.longLeaseIsTold(ctx); err != nil {
				return err
			}
		}
		if strange.fix != nil {
			if _, err := s.a.Admin.Merge(ctx, leasePath, strange.fix); err != nil {
				return fmt.Errorf("%s, made right: %w", strange.name, err)
			}
		}
		if _, leads := leading(s.b); leads {
			return fmt.Errorf("%s promoted hub-b", strange.name)
		}
		s.fact("hub-b", "%s: the peer is %s, nothing crashes, nothing opens", strange.name, class)
	}
	if err := s.strangeServer(ctx); err != nil {
		return err
	}
	if s.pid(s.b, "elector") != elector || s.pid(s.b, "observer") != observer {
		return fmt.Errorf("a process of hub-b was started anew")
	}
	return nil
}

const longLease = "a duration of 68 years"

// longLeaseIsTold: so long nobody takes over, which log, metrics and status say (H17).
func (s *story) longLeaseIsTold(ctx context.Context) error {
	if _, err := logged(ctx, s.b.Log(), "the peer's lease lasts", patience); err != nil {
		return fmt.Errorf("hub-b's log says how long the peer's Lease lasts: %w", err)
	}
	if _, err := s.ctlSoon(ctx, s.b, 0, "the peer's Lease lasts more than 300 s", "status"); err != nil {
		return err
	}
	return s.inMetricsOf(ctx, s.b, "understudy_peer_lease_duration_seconds 4294967.295\n")
}

// strangeServer puts a gateway in the place of hub-a's API server, and something that answers with
// Leases whose fields have other types.
func (s *story) strangeServer(ctx context.Context) error {
	for _, words := range [][]string{{"html", "200", "path=/leases"}, {"html", "404", "path=/leases"}, {"status", "401"},
		{"edit", "/spec/renewTime=1764446057", "path=/leases/"}, {"edit", "/spec/renewTime={}", "path=/leases/"},
		{"edit", "/spec/holderIdentity=[\"hub-a\"]", "path=/leases/"}, {"edit", "/spec/leaseDurationSeconds=\"3\"", "path=/leases/"},
		{"edit", "/spec/leaseDurationSeconds=1e99", "path=/leases/"}, {"edit", "/spec=[]", "path=/leases/"},
		{"edit", "/metadata=\"none\"", "path=/leases/"}, {"edit", "/metadata/annotations=[]", "path=/leases/"},
		{"edit", "/metadata/annotations/ha.kubeslice.io~1term=7", "path=/leases/"}, {"edit", "/kind=\"ConfigMap\"", "path=/leases/"}} {
		if _, err := fault.Tell(ctx, s.a.Cluster.ProxySocket(), words...); err != nil {
			return err
		}
		if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
			o, err := s.b.Status(ctx)
			return err == nil && o.Text("peer", "class") == "blind"
		}); err != nil {
			return fmt.Errorf("%v: the peer is not blind to hub-b: %w", words, err)
		}
		kube.Pause(ctx, 4*time.Second)
		if _, leads := leading(s.b); leads {
			return fmt.Errorf("%v promoted hub-b", words)
		}
		s.fact("hub-b", "hub-a's server answers %s: blind, not dead, for more than a threshold", strings.Join(words, " "))
	}
	_, err := fault.Tell(ctx, s.a.Cluster.ProxySocket(), "none")
	return err
}

// pauseEnds lets hub-a come back on the Lease that was left at the year 9999, and ends the pause.
func (s *story) pauseEnds(ctx context.Context) error {
	if _, err := s.a.Admin.Merge(ctx, leasePath, kube.Object{"spec": map[string]any{"renewTime": "9999-12-31T23:59:59.999999Z"}}); err != nil {
		return err
	}
	if err := s.a.Start(); err != nil {
		return err
	}
	at, term, err := page(ctx, s.a, true, patience)
	if err != nil {
		return fmt.Errorf("hub-a leads again: %w", err)
	}
	s.factAt(at, "hub-a", "leads again with term %d, on a Lease whose renewTime was in the year 9999", term)
	if _, err := s.ctl(ctx, s.b, 0, "not paused", "resume"); err != nil {
		return err
	}
	if _, err := s.ctl(ctx, s.b, 1, "NO  paused", "resume"); err != nil {
		return err
	}
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool { return s.b.Armed(ctx) }); err != nil {
		return fmt.Errorf("hub-b is armed again: %w", err)
	}
	s.fact("hub-b", "resumed: armed again")
	return nil
}

// takeOver kills hub-a for good beside a hub-b that is not paused any more.
func (s *story) takeOver(ctx context.Context) error {
	s.a.Kill()
	s.a.Cluster.Kill(cluster.ControlPlane...)
	at, term, err := page(ctx, s.b, true, patience)
	if err != nil {
		return fmt.Errorf("without the pause hub-b takes over: %w", err)
	}
	s.factAt(at, "hub-b", "without the pause it takes over, term %d", term)
	return nil
}
