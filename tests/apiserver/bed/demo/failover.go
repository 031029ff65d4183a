package demo

import (
	"context"
	"fmt"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// failOver kills hub-a without warning and sees hub-b take over, step by step.
func (s *story) failOver(ctx context.Context) error {
	leases := kube.Leases.Path(pair.Namespace, "")
	claimed := watch(ctx, s.b.Admin, leases, false, func(o kube.Object) bool {
		return o.Name() == "kubeslice-controller-ha" && o.Text("spec", "holderIdentity") == "hub-b"
	})
	told := watch(ctx, s.worker, pair.Controllers.Path("", ""), false, func(o kube.Object) bool {
		return o.Text("spec", "identity") == "hub-b"
	})
	published := watch(ctx, s.b.Admin, kube.Clusters.Path("", ""), false, func(o kube.Object) bool {
		return o.Text("status", "activeController", "activeIdentity") == "hub-b"
	})
	followed := s.watchFollower(ctx, s.b)
	attested := s.watchWitness(ctx)
	s.kill = time.Now()
	s.a.Kill()
	ends := time.Now().Add(see.Remaining(s.a)) // nobody writes the page any more
	if s.OnlyController {
		s.fact("hub-a", "KILLED: its understudyd, with SIGKILL; its API server goes on answering")
	} else {
		s.a.Cluster.Kill(cluster.ControlPlane...)
		s.fact("hub-a", "KILLED: its API server, etcd and understudyd, all with SIGKILL")
	}

	claim, err := await(ctx, claimed, patience)
	if err != nil {
		return fmt.Errorf("hub-b claims its Lease: %w", err)
	}
	s.result.Detection = claim.At.Sub(s.kill)
	// Nobody waits for an answer that does not come, and a killed process gives none.
	span := patience
	if s.Disturb != nil {
		span = 3 * time.Second
	}
	if got, err := await(ctx, attested, span); err == nil {
		if err := s.tellWitness(got); err != nil {
			return err
		}
	} else if s.Disturb == nil {
		return fmt.Errorf("worker-1's follower answers hub-b's question: %w", err)
	}
	if _, leads := leading(s.a); leads || claim.At.Before(ends) {
		return fmt.Errorf("hub-b claims %v before hub-a's fence page runs out; it leads: %v", ends.Sub(claim.At), leads)
	}
	s.factAt(ends, "hub-a", "its fence page has run out; nobody had to close it")
	annotations := claim.Object.Get("metadata", "annotations")
	s.factAt(claim.At, "hub-b", "silence is proven; promotion: claims its own Lease with term %v", term(annotations))
	at, opened, err := page(ctx, s.b, true, patience)
	if err != nil {
		return fmt.Errorf("hub-b opens its fence: %w", err)
	}
	s.result.Promotion = at.Sub(claim.At)
	got, err := await(ctx, told, patience)
	if err != nil {
		return fmt.Errorf("ClusterController on worker-1 names hub-b: %w", err)
	}
	s.result.Repointing = got.At.Sub(claim.At)
	s.factAt(got.At, "worker-1", "ClusterController/active names hub-b with term %d", got.Object.Int("spec", "term"))
	s.factAt(at, "hub-b", "ACTIVE: fence page open, term %d", opened)
	if got.Object.Int("spec", "term") != int64(opened) {
		return fmt.Errorf("the worker was told term %d, the page says %d", got.Object.Int("spec", "term"), opened)
	}
	if got, err = await(ctx, published, patience); err != nil {
		return fmt.Errorf("activeController on hub-b: %w", err)
	}
	s.factAt(got.At, "hub-b", "Cluster %s: status.activeController names hub-b", got.Object.Name())
	if got, err = await(ctx, followed, patience); err != nil {
		return fmt.Errorf("worker-1's follower moves to hub-b: %w", err)
	}
	if err := s.tellFollower(ctx, got, s.b); err != nil {
		return err
	}
	return s.workload(ctx, s.b)
}

func term(annotations any) any {
	m, _ := annotations.(map[string]any)
	return m["ha.kubeslice.io/term"]
}

// work sees that what hub-b took over is served, old objects and new ones.
func (s *story) work(ctx context.Context) error {
	collection := kube.SliceConfigs.Path(pair.Project, "")
	old := watch(ctx, s.b.Admin, collection, false, reconciled("blue", "hub-b"))
	got, err := await(ctx, old, patience)
	if err != nil {
		return fmt.Errorf("slice blue, made on hub-a, is reconciled on hub-b: %w", err)
	}
	s.factAt(got.At, "hub-b", "slice blue, made on hub-a, is reconciled here now")
	fresh := watch(ctx, s.b.Admin, collection, false, reconciled("green-2", "hub-b"))
	if err := s.create(ctx, s.b, collection, slice("green-2")); err != nil {
		return fmt.Errorf("a new slice on hub-b: %w", err)
	}
	if got, err = await(ctx, fresh, patience); err != nil {
		return fmt.Errorf("the new slice on hub-b is reconciled: %w", err)
	}
	s.factAt(got.At, "hub-b", "a new slice is created and reconciled here")
	return nil
}
