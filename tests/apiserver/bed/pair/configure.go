package pair

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func (h *Hub) path(file string) string {
	if h.inside() { // where a mapped root may go, too
		return filepath.Join(h.insideDir("etc"), file)
	}
	return filepath.Join(h.pair.Dir, h.Name, file)
}

// seen is where understudyd finds a file of the hub, and its run directory.
func (h *Hub) seen(file string) string {
	if h.inside() {
		return filepath.Join(insideEtc, file)
	}
	return h.path(file)
}

func (h *Hub) seenRun() (directory string, uidBase int) {
	switch {
	case !h.inside():
		return h.RunDirectory(), h.UIDBase()
	case h.Container != nil && h.Container.User:
		return insideRun, containerUID
	default:
		return insideRun, h.UIDBase()
	}
}

// Configure writes configuration and credentials of a hub anew, from what its cluster has now.
func (h *Hub) Configure(ctx context.Context) error {
	if err := h.pair.run(ctx, "--force"); err != nil {
		return err
	}
	return h.Place()
}

// Place takes the hub's folder of bootstrap's output to where its understudyd reads it, with what a
// bed has otherwise.
func (h *Hub) Place() error {
	text, err := h.copyFolder()
	if err != nil {
		return err
	}
	for _, w := range h.pair.More {
		if err := os.WriteFile(h.path(w.Name+".kubeconfig"), w.Kubeconfig(h), 0o400); err != nil {
			return err
		}
		text += fmt.Sprintf("- {name: %s, project-namespace: %s, kubeconfig: %s}\n", w.Name, Project, h.seen(w.Name+".kubeconfig"))
	}
	if h.pair.ShardSize > 0 {
		text += fmt.Sprintf("repointer: {shard-size: %d}\n", h.pair.ShardSize)
	}
	l := h.pair.Lease
	text += fmt.Sprintf("lease: {duration: %s, renew-deadline: %s, retry-period: %s, padding: %s}\n",
		l.Duration, l.RenewDeadline, l.RetryPeriod, l.Padding)
	text += fmt.Sprintf("promotion: {mode: automatic, witness: %s, max-lag: 60s, armed-max-age: 24h, block-window: %s, recovery: hold}\n",
		h.pair.witness(), h.pair.block())
	return os.WriteFile(h.Config(), []byte(text+h.surroundings()), 0o600)
}

// surroundings are the keys of a bed's machine, the same for hubs and workers.
func (h *Hub) surroundings() string {
	directory, uidBase := h.seenRun()
	workload, waived := "workload: {command: [/bin/sleep, infinity], stop-grace: 0s}\n", strings.Join(h.Lacks, ", ")
	if slices.Contains(h.Lacks, UIDSeparation) && !h.Refuses {
		workload = ""
	}
	return workload +
		fmt.Sprintf("listen: {http: \"127.0.0.1:%d\"}\n", h.port) +
		fmt.Sprintf("dial: {allow: [%s]}\n", h.pair.reachable()) +
		fmt.Sprintf("run: {directory: %s, uid-base: %d, status-group: root, admin-group: root}\nallow-missing: [%s]\n", directory, uidBase, waived)
}

// copyFolder copies the machine's certificates and credentials into one folder, and returns its
// configuration with that folder in place of the one that a machine has.
func (h *Hub) copyFolder() (string, error) {
	if err := os.RemoveAll(h.path("")); err != nil {
		return "", err
	}
	for _, folder := range []string{h.path(""), h.RunDirectory()} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", err
		}
	}
	var files []string
	for _, pattern := range []string{"*.crt", "credentials/*"} {
		found, _ := filepath.Glob(filepath.Join(h.pair.Output(), h.Name, pattern))
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		mode := os.FileMode(0o400)
		if strings.HasSuffix(file, ".crt") {
			mode = 0o644
		}
		if err := os.WriteFile(h.path(filepath.Base(file)), h.pair.proxied(text), mode); err != nil {
			return "", err
		}
	}
	text, err := os.ReadFile(filepath.Join(h.pair.Output(), h.Name, "understudy.yaml"))
	if err != nil {
		return "", err
	}
	return strings.NewReplacer("/etc/understudy/credentials/", h.seen("")+"/", "/etc/understudy/", h.seen("")+"/").Replace(string(text)), nil
}

// proxied is a kubeconfig that goes through the fault proxy of its cluster, if its account shall.
func (p *Pair) proxied(text []byte) []byte {
	for _, account := range p.Proxied {
		if !bytes.Contains(text, []byte("user: "+account+"}")) {
			continue
		}
		for _, c := range p.bed.Clusters {
			text = bytes.Replace(text, []byte("server: "+c.URL()+"\n"), []byte("server: "+c.ProxyURL()+"\n"), 1)
		}
	}
	return text
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
