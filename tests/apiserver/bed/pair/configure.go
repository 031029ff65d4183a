package pair

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
)

// credential writes a kubeconfig with a token of a service account, for root only.
func (h *Hub) credential(ctx context.Context, file string, at *cluster.Cluster, namespace, account string) error {
	client, err := at.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	token, err := client.Token(ctx, namespace, account, tokenLife)
	if err != nil {
		return fmt.Errorf("token of %s on %s: %w", account, at.Name, err)
	}
	server := client.Server
	if slices.Contains(h.pair.Proxied, account) {
		server = at.ProxyURL()
	}
	return os.WriteFile(h.path(file), kube.Kubeconfig(server, client.CA, kube.User{Token: token}), 0o400)
}

func (h *Hub) path(file string) string {
	if h.Container != nil { // where a mapped root may go, too
		return filepath.Join(h.containerDir("etc"), file)
	}
	return filepath.Join(h.pair.Dir, h.Name, file)
}

// seen is where understudyd finds a file of the hub, and its run directory.
func (h *Hub) seen(file string) string {
	if h.Container != nil {
		return filepath.Join(containerEtc, file)
	}
	return h.path(file)
}

func (h *Hub) seenRun() (directory string, uidBase int) {
	switch {
	case h.Container == nil:
		return h.RunDirectory(), h.UIDBase()
	case h.Container.User:
		return containerRun, containerUID
	default:
		return containerRun, h.UIDBase()
	}
}

func (h *Hub) peer() *Hub { return h.pair.Hubs[1-h.index] }

// Configure writes the hub's credentials and its understudy.yaml.
func (h *Hub) Configure(ctx context.Context) error {
	if err := os.RemoveAll(h.path("")); err != nil {
		return err
	}
	if err := os.MkdirAll(h.path(""), 0o755); err != nil {
		return err
	}
	type credential struct {
		file      string
		at        *cluster.Cluster
		namespace string
		account   string
	}
	credentials := []credential{
		{"elector.kubeconfig", h.Cluster, Namespace, "understudy-elector"},
		{"publisher.kubeconfig", h.Cluster, Namespace, "understudy-publisher"},
		{"syncer.kubeconfig", h.Cluster, Namespace, "understudy-syncer"},
		{"peer-observer.kubeconfig", h.peer().Cluster, Namespace, "understudy-peer-observer"},
		{"peer-syncer.kubeconfig", h.peer().Cluster, Namespace, "understudy-peer-syncer"},
	}
	for _, w := range h.pair.Workers {
		credentials = append(credentials, credential{w.Name + ".kubeconfig", w.Cluster, "kubeslice-system", "understudy-" + h.Name})
	}
	for _, c := range credentials {
		if err := h.credential(ctx, c.file, c.at, c.namespace, c.account); err != nil {
			return err
		}
	}
	for _, w := range h.pair.More {
		if err := os.WriteFile(h.path(w.Name+".kubeconfig"), w.Kubeconfig(h), 0o400); err != nil {
			return err
		}
	}
	for _, hub := range h.pair.Hubs {
		ca, err := os.ReadFile(hub.Cluster.CAFile())
		if err != nil {
			return err
		}
		if err := os.WriteFile(h.path(hub.Name+".crt"), ca, 0o644); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(h.RunDirectory(), 0o755); err != nil {
		return err
	}
	return os.WriteFile(h.Config(), []byte(h.yaml()), 0o600)
}

func (h *Hub) yaml() string {
	var b strings.Builder
	line := func(format string, arguments ...any) { fmt.Fprintf(&b, format+"\n", arguments...) }
	line("mode: %s", []string{"active", "standby"}[h.index])
	line("self: %s", h.Name)
	line("hubs:")
	for _, hub := range h.pair.Hubs {
		line("- {name: %s, endpoint: %q, ca-file: %s}", hub.Name, hub.Cluster.URL(), h.seen(hub.Name+".crt"))
	}
	line("namespace: %s", Namespace)
	l := h.pair.Lease
	line("lease: {duration: %s, renew-deadline: %s, retry-period: %s, padding: %s}",
		l.Duration, l.RenewDeadline, l.RetryPeriod, l.Padding)
	line("promotion: {mode: automatic, witness: %s, max-lag: 60s, armed-max-age: 24h, block-window: %s, recovery: hold}", h.pair.witness(), h.pair.block())
	line("mirror: {set: kubeslice}")
	line("credentials:")
	for _, name := range []string{"elector", "publisher", "syncer", "peer-observer", "peer-syncer"} {
		line("  %s: {kubeconfig: %s}", name, h.seen(name+".kubeconfig"))
	}
	line("workers:")
	for _, w := range h.pair.Workers {
		line("- {name: %s, project-namespace: %s, kubeconfig: %s}", w.Name, Project, h.seen(w.Name+".kubeconfig"))
	}
	for _, w := range h.pair.More {
		line("- {name: %s, project-namespace: %s, kubeconfig: %s}", w.Name, Project, h.seen(w.Name+".kubeconfig"))
	}
	if h.pair.ShardSize > 0 {
		line("repointer: {shard-size: %d}", h.pair.ShardSize)
	}
	line("workload: {command: [/bin/sleep, infinity], stop-grace: 0s}")
	line("listen: {http: \"127.0.0.1:%d\"}", h.port)
	line("dial: {allow: [%s]}", h.pair.reachable())
	directory, uidBase := h.seenRun()
	line("run: {directory: %s, uid-base: %d, status-group: root, admin-group: root}", directory, uidBase)
	line("allow-missing: []")
	return b.String()
}

// reachable are the addresses of the clusters, as ranges: loopback, and those of their networks.
func (p *Pair) reachable() string {
	ranges := []string{"127.0.0.0/8"}
	for _, c := range p.bed.Clusters {
		if !net.ParseIP(c.Address).IsLoopback() {
			ranges = append(ranges, c.Address+"/32")
		}
	}
	return strings.Join(ranges, ", ")
}
