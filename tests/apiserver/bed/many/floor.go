package many

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

const floorRounds = 3

// floor is how long a bare client takes to write to all workers at once: at the same addresses, as the
// same identity, over connections that are up, one apply for each worker as a push is one. It is the
// median of a few rounds; each writes another term, so that each is a change to the server. The objects
// are others than those that hubs and followers look at.
func (r *run) floor(ctx context.Context, h *pair.Hub) (time.Duration, error) {
	direct, err := kube.Load(filepath.Join(r.Dir, h.Name, "worker-1.kubeconfig"))
	if err != nil {
		return 0, err
	}
	spec, err := direct.Get(ctx, pair.Controllers.Path("", r.fronts.all[0].name))
	if err != nil {
		return 0, err
	}
	clients := make([]*kube.Client, len(r.fronts.all))
	for i, w := range r.fronts.all {
		if clients[i], err = direct.Behind("https://"+w.at(r.fronts.port), "worker-1"); err != nil {
			return 0, err
		}
		defer clients[i].Close()
	}
	var took []time.Duration
	for round := range 1 + floorRounds { // the first makes connections and objects
		errs := make([]error, len(clients))
		var group sync.WaitGroup
		begin := time.Now()
		for i, client := range clients {
			group.Go(func() {
				name := "floor-" + r.fronts.all[i].name
				_, errs[i] = client.Patch(ctx, pair.Controllers.Path("", name)+"?force=true&fieldManager=understudy", kube.ApplyPatch, fmt.Appendf(nil,
					`{"apiVersion":"ha.kubeslice.io/v1alpha1","kind":"ClusterController","metadata":{"name":%q},"spec":{"endpoint":%q,"caBundle":%q,"identity":%q,"term":%d}}`,
					name, spec.Text("spec", "endpoint"), spec.Text("spec", "caBundle"), spec.Text("spec", "identity"), spec.Int("spec", "term")+2*int64(round)))
			})
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			return 0, err
		}
		if round > 0 {
			took = append(took, time.Since(begin))
		}
		kube.Pause(ctx, time.Second)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
