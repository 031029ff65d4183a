package demo

import (
	"context"
	"fmt"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// restored is how soon HubRole is what it was, whatever another hand made of it (C2), and ten answers of
// an API server that is busy. Without a watch it would be written every ten seconds.
const restored = 5 * time.Second

// hubRoleOfAnotherHand deletes HubRole/self on both hubs, and writes a false role and a false term
// into it. What it told of the past comes back, too.
func (s *story) hubRoleOfAnotherHand(ctx context.Context) error {
	path := pair.HubRoles.Path("", "self")
	spec := func(role string, term int64) kube.Object {
		return kube.Object{"spec": map[string]any{"role": role, "term": term}}
	}
	for _, h := range []*pair.Hub{s.a, s.b} {
		before, err := h.Admin.Get(ctx, path)
		if err != nil {
			return err
		}
		role, term := before.Text("spec", "role"), before.Int("spec", "term")
		other := map[string]string{"Leading": "Standby", "Standby": "Leading"}[role]
		var worst, answer time.Duration
		for _, hand := range []func() error{
			func() error { return h.Admin.Delete(ctx, path) },
			func() error { _, err := h.Admin.Merge(ctx, path, spec(other, term)); return err },
			func() error { _, err := h.Admin.Merge(ctx, path, spec(role, term+7)); return err },
		} {
			begin := time.Now()
			if err := hand(); err != nil {
				return err
			}
			at, err := until(ctx, patience, 2*time.Millisecond, func() bool {
				asked := time.Now()
				o, err := h.Admin.Get(ctx, path)
				answer = max(answer, time.Since(asked))
				return err == nil && o.Text("spec", "role") == role && o.Int("spec", "term") == term
			})
			if err != nil {
				return fmt.Errorf("%s: HubRole is not %s, term %d again: %w", h.Name, role, term, err)
			}
			worst = max(worst, at.Sub(begin))
			kube.Pause(ctx, 300*time.Millisecond) // two hands within 200 ms are made good together
		}
		if most := restored + 10*answer; worst > most {
			return fmt.Errorf("%s: HubRole was restored after %v, want at most %v", h.Name, worst, most)
		}
		history := before.List("status", "history")
		if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
			o, err := h.Admin.Get(ctx, path)
			return err == nil && len(history) > 0 && len(o.List("status", "history")) >= len(history)
		}); err != nil {
			return fmt.Errorf("%s: the %d transitions of HubRole's history are not back: %w", h.Name, len(history), err)
		}
		s.fact(h.Name, "HubRole deleted, its role and its term changed by hand: %s again within %d ms, with its history of %d",
			role, worst.Milliseconds(), len(history))
	}
	if _, _, err := page(ctx, s.a, true, patience); err != nil {
		return fmt.Errorf("hub-a does not lead any more: %w", err)
	}
	return nil
}
