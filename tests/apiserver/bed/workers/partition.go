package workers

import (
	"context"
	"errors"
	"time"

	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// silence is longer than a Standby of the fast profile needs to promote itself.
const silence = 6 * time.Second

// partition cuts single links: the rows of the matrix in which workers decide (C3, C9). hub-a leads.
func (r *run) partition(ctx context.Context) error {
	for _, row := range []func(*run, context.Context) error{
		(*run).hubsApart, (*run).splitWorkers, (*run).eachToOneHub,
	} {
		if err := row(r, ctx); err != nil {
			return errors.Join(err, r.heal())
		}
	}
	return nil
}

// hubsApart: the hubs do not see each other, every worker sees both. Workers that attest renewals hold
// the Standby back.
func (r *run) hubsApart(ctx context.Context) error {
	if err := r.cut(r.a.Cluster, r.b.Cluster); err != nil {
		return err
	}
	r.check("A-B cut, workers see both: they veto, and stay with hub-a (C3)", stays(ctx, silence, func() error {
		return errors.Join(r.is(ctx, r.b, "Standby"), all(r.workers, func(w *pair.Worker) error {
			_, err := told(ctx, w, r.a)
			return err
		}))
	}))
	return nil
}

// splitWorkers: A with worker-1 on one side, B with the others on the other. B leads there; whoever
// sees A stays with it, and the first link that heals ends A.
func (r *run) splitWorkers(ctx context.Context) error {
	w1, others := r.workers[0], r.workers[1:]
	if err := r.cut(w1.Cluster, r.b.Cluster); err != nil {
		return err
	}
	for _, w := range others {
		if err := r.cut(w.Cluster, r.a.Cluster); err != nil {
			return err
		}
	}
	r.check("A+w1 | B+w2,w3: hub-b leads and its workers follow it", errors.Join(r.role(ctx, r.b, "Leading"), r.allFollow(ctx, others, r.b)))
	r.check("A+w1 | B+w2,w3: worker-1 stays with hub-a, whose term is lower", see.Eventually(ctx, patience, func() error { return follows(ctx, w1, r.a) }))
	// hub-b reaches worker-1 first, the hubs still do not see each other.
	if err := r.heal(w1.Cluster, r.b.Cluster); err != nil {
		return err
	}
	r.check("B-w1 heals: worker-1 follows the higher term", r.allFollow(ctx, r.workers[:1], r.b))
	r.check("B-w1 heals: hub-a sees it there, cannot ask hub-b, and yields (C9)", see.Eventually(ctx, patience, func() error {
		return r.is(ctx, r.a, "Standby", "Rejoining")
	}))
	if err := r.heal(); err != nil {
		return err
	}
	r.check("all heals: hub-a is hub-b's Standby, all workers follow hub-b", errors.Join(r.armed(ctx, r.a), r.allFollow(ctx, r.workers, r.b)))
	return nil
}

// eachToOneHub: the hubs see each other, worker-1 sees the Standby alone, the others the Active alone.
func (r *run) eachToOneHub(ctx context.Context) error {
	w1, others := r.workers[0], r.workers[1:]
	if err := r.cut(w1.Cluster, r.b.Cluster); err != nil {
		return err
	}
	for _, w := range others {
		if err := r.cut(w.Cluster, r.a.Cluster); err != nil {
			return err
		}
	}
	r.check("each worker sees one hub: nobody moves, nobody is promoted; a cut one is unreachable at the hub that lost it (W19)", both(func() error {
		return stays(ctx, silence, func() error {
			return errors.Join(r.is(ctx, r.b, "Leading"), r.is(ctx, r.a, "Standby"), handedOnly(w1, r.b), all(others, func(w *pair.Worker) error {
				return keeps(ctx, w, r.b)
			}))
		})
	}, func() error {
		return errors.Join(see.Eventually(ctx, patience, func() error { return shows(ctx, r.b, w1, "unreachable") }),
			see.Eventually(ctx, patience, func() error { return shows(ctx, r.a, others[0], "unreachable") }))
	}))
	if err := r.heal(); err != nil {
		return err
	}
	r.check("each link heals: all follow hub-b, and are ok at both hubs", errors.Join(r.allFollow(ctx, r.workers, r.b), all(r.workers, func(w *pair.Worker) error {
		return errors.Join(see.Eventually(ctx, 2*patience, func() error { return shows(ctx, r.a, w, "ok") }),
			see.Eventually(ctx, 2*patience, func() error { return shows(ctx, r.b, w, "ok") }))
	})))
	return nil
}

// is is nil when a hub's role is one of these.
func (r *run) is(ctx context.Context, h *pair.Hub, roles ...string) error {
	o, err := h.Admin.Get(ctx, pair.HubRoles.Path("", "self"))
	if err != nil {
		return err
	}
	for _, role := range roles {
		if o.Text("spec", "role") == role {
			return nil
		}
	}
	return errors.New(h.Name + " is " + o.Text("spec", "role"))
}
