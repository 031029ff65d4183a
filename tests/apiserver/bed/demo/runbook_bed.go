package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// bed does what happens to an operator, or what somebody else does.
func (r *runbook) bed(ctx context.Context, verb string, h *pair.Hub) error {
	switch verb {
	case "stop":
		h.Kill()
		return nil
	case "kill":
		h.Kill()
		return h.Cluster.Kill(cluster.ControlPlane...)
	case "start":
		if err := r.serve(ctx, h); err != nil {
			return err
		}
		return h.Start()
	case "lose":
		return r.lose(ctx, h)
	case "rebuild":
		return r.rebuild(ctx, h)
	case "recertify":
		return r.recertify(ctx, h)
	case "decertify":
		_, err := h.Cluster.Serve(r.former)
		return err
	case "expire":
		return r.expire(ctx, h)
	}
	return fmt.Errorf("there is no such directive")
}

func (r *runbook) serve(ctx context.Context, h *pair.Hub) error {
	if err := h.Cluster.Start(cluster.ControlPlane...); err != nil {
		return err
	}
	return h.Cluster.Await(ctx, cluster.APIServer)
}

// writeContexts writes a kubeconfig for each cluster, whose context bears its name; more is a
// certificate that is trusted besides, everywhere.
func (r *runbook) writeContexts(more string) error {
	for _, c := range r.clusters() {
		text, err := os.ReadFile(c.Kubeconfig())
		if err != nil {
			return err
		}
		client, err := c.Client()
		if err != nil {
			return err
		}
		client.Close()
		both := append(append([]byte{}, client.CA...), more...)
		named := strings.NewReplacer(": bed\n", ": "+c.Name+"\n", kube.Base64(client.CA), kube.Base64(both)).Replace(string(text))
		if err := os.WriteFile(r.context(c), []byte(named), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (r *runbook) clusters() []*cluster.Cluster {
	return []*cluster.Cluster{r.s.a.Cluster, r.s.b.Cluster, r.s.pair.Work}
}

func (r *runbook) context(c *cluster.Cluster) string {
	return filepath.Join(r.s.Dir, "context-"+c.Name)
}

func (r *runbook) contexts() string {
	var all []string
	for _, c := range r.clusters() {
		all = append(all, r.context(c))
	}
	return strings.Join(all, ":")
}

// lose starts the cluster of a hub that died while it led, with an object that its peer never saw, and then
// the hub: no race decides whether there is one.
func (r *runbook) lose(ctx context.Context, h *pair.Hub) error {
	if err := r.serve(ctx, h); err != nil {
		return err
	}
	// Its policies know the role again a moment after the API server is ready.
	var last error
	if _, err := until(ctx, patience, 100*time.Millisecond, func() bool {
		_, last = h.Admin.Create(ctx, kube.SliceConfigs.Path(pair.Project, ""), slice("unseen"))
		return last == nil
	}); err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return h.Start()
}

// rebuild makes another cluster of a hub that is down: nothing of what it held, KubeSlice's kinds.
func (r *runbook) rebuild(ctx context.Context, h *pair.Hub) error {
	if err := h.Cluster.Wipe(); err != nil {
		return err
	}
	if err := r.serve(ctx, h); err != nil {
		return err
	}
	return r.s.pair.Apply(ctx, h.Admin, nil, "tests/apiserver/crds/*.yaml")
}

// recertify lets the API server of a hub present a certificate of an authority that nobody knows but the
// administrator, to its peer on a new connection.
func (r *runbook) recertify(ctx context.Context, h *pair.Hub) error {
	next, err := h.Cluster.Renew()
	if err != nil {
		return err
	}
	if err := r.writeContexts(string(next.CA)); err != nil {
		return err
	}
	if r.former, err = h.Cluster.Serve(next); err != nil {
		return err
	}
	client, err := kube.New(h.Cluster.URL(), next.CA, kube.User{})
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := until(ctx, patience, 100*time.Millisecond, func() bool {
		_, err := client.Get(ctx, "/version")
		return err == nil
	}); err != nil {
		return fmt.Errorf("the API server presents the new certificate: %w", err)
	}
	// Of all connections that would end with the old server, the one that the page is about.
	pid, err := r.s.aPid(ctx, r.s.a, "observer")
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// expire gives the publisher a token of its account that ends within seconds, and returns when it is in
// use: what has expired before is not taken.
func (r *runbook) expire(ctx context.Context, h *pair.Hub) error {
	client, err := h.Cluster.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	token, err := client.Token(ctx, pair.Namespace, "understudy-publisher", time.Hour)
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(h.Config()), "publisher.kubeconfig")
	for _, left := range []time.Duration{6 * time.Second, 20 * time.Second, 60 * time.Second} {
		aged, err := h.Cluster.Aged(token, time.Hour, left)
		if err != nil {
			return err
		}
		mark := logSize(h.Log())
		if err := replace(path, kube.Kubeconfig(client.Server, client.CA, kube.User{Token: aged})); err != nil {
			return err
		}
		if _, err := until(ctx, left, 50*time.Millisecond, func() bool {
			return strings.Contains(logSince(h.Log(), mark), "credential publisher: publisher uses generation")
		}); err == nil {
			return nil
		}
	}
	return errors.New("the publisher takes no token that ends soon")
}
