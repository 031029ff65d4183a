package rights

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// open makes a client of every identity, from the files that its process would get.
func (s *suite) open() error {
	a, b := s.pair.Hubs[0], s.pair.Hubs[1]
	for _, one := range []struct {
		name, dir, file string
		at              *cluster.Cluster
	}{
		{"elector", a.Name, "elector", a.Cluster},
		{"publisher", a.Name, "publisher", a.Cluster},
		{"syncer", a.Name, "syncer", a.Cluster},
		{"peer-observer", b.Name, "peer-observer", a.Cluster},
		{"peer-syncer", b.Name, "peer-syncer", a.Cluster},
		{"hub-a", a.Name, "worker-1", s.pair.Work},
		{"hub-b", b.Name, "worker-1", s.pair.Work},
		{"follower", "worker-1", "follower", s.pair.Work},
		{"admin", "", "", a.Cluster},
		{"worker's admin", "", "", s.pair.Work},
		{"break-glass", "", "", a.Cluster},
		{"worker's break-glass", "", "", s.pair.Work},
		{"anonymous", "", "", a.Cluster},
	} {
		root, err := kube.Load(one.at.BreakGlass())
		if err != nil {
			return err
		}
		client := root
		switch {
		case one.dir != "":
			client, err = kube.Load(filepath.Join(s.pair.Dir, one.dir, one.file+".kubeconfig"))
		case strings.HasSuffix(one.name, "admin"):
			client, err = one.at.Client()
		case one.name == "anonymous":
			client, err = kube.New(root.Server, root.CA, kube.User{})
		}
		if err != nil {
			return err
		}
		s.accounts[one.name] = account{client, root}
	}
	return nil
}

// tokens: each is good where it was made, and nobody's on every other cluster (a syncer that
// tries its token on worker-1).
func (s *suite) tokens(ctx context.Context) error {
	clusters := []*cluster.Cluster{s.pair.Hubs[0].Cluster, s.pair.Hubs[1].Cluster, s.pair.Work}
	review := post("/apis/authentication.k8s.io/v1/selfsubjectreviews",
		kube.Object{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
	for _, name := range []string{"elector", "publisher", "syncer", "peer-observer", "peer-syncer", "hub-a", "hub-b", "follower"} {
		own := s.accounts[name].client
		for _, at := range clusters {
			client, want := own, accepted
			if at.URL() != own.Server {
				admin, err := at.Client()
				if err != nil {
					return err
				}
				if client, err = own.Elsewhere(admin.Server, admin.CA); err != nil {
					return err
				}
				want = stranger
			}
			s.report(fmt.Sprintf("the token of %s on %s: %s", name, at.Name, want),
				differs(review.send(ctx, client, client), want))
		}
	}
	s.table(ctx, "no token", []row{
		{"anonymous", "reads HubRole/self", noRight, get(pair.HubRoles.Path("", "self"))},
		{"anonymous", "lists Secrets", noRight, get(kube.Secrets.Path("", ""))},
	})
	return nil
}
