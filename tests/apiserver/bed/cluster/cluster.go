// Package cluster starts Kubernetes control planes on one machine and breaks them: each cluster
// is an etcd, an API server and a controller manager of its own, with its own authority. A Bed is
// a folder with any number of them. It must end all that it started, by pid, whatever happens to
// the test that asked for it, and touch nothing else. The tests and the demo call it, through the
// command build/bed or in the same program.
package cluster

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/kube"
)

// Part is one program of a cluster.
type Part string

const (
	Etcd        Part = "etcd"
	APIServer   Part = "apiserver"
	Controllers Part = "controllers"
	Proxy       Part = "proxy" // the fault proxy: started only when asked for
)

// ControlPlane is what Up starts, in this order.
var ControlPlane = []Part{Etcd, APIServer, Controllers}

// stopGrace is how long Stop waits before it kills: an API server takes 3-5 s to stop.
const stopGrace = 10 * time.Second

// Cluster is one control plane. Its fields are fixed when the bed is made.
type Cluster struct {
	Name    string
	Address string // where its servers listen
	Link    *Link  // its network namespace, nil for the machine's own
	Port    struct{ Etcd, EtcdPeer, API, Proxy int }
	// APIServerFlags are its API server's beyond those of the bed.
	APIServerFlags []string
	bed            *Bed
	oneWay         bool // CutTo has made room for its rules
}

// Path is a file in the cluster's folder.
func (c *Cluster) Path(name ...string) string {
	return filepath.Join(append([]string{c.bed.Dir, c.Name}, name...)...)
}

// URL is the API server's, ProxyURL that of the fault proxy in front of it.
func (c *Cluster) URL() string      { return fmt.Sprintf("https://%s:%d", c.Address, c.Port.API) }
func (c *Cluster) ProxyURL() string { return fmt.Sprintf("https://%s:%d", c.Address, c.Port.Proxy) }

// ProxySocket is where the fault proxy takes its orders.
func (c *Cluster) ProxySocket() string { return c.data("proxy.sock") }

// Kubeconfig is the administrator's (group system:masters); CAFile the authority's certificate.
func (c *Cluster) Kubeconfig() string { return c.Path("admin.kubeconfig") }
func (c *Cluster) CAFile() string     { return c.Path("ca.crt") }

// BreakGlass is the kubeconfig of an administrator whom the admission policies let pass.
func (c *Cluster) BreakGlass() string { return c.Path("break-glass.kubeconfig") }

// Log is the log of a part.
func (c *Cluster) Log(p Part) string { return c.Path(string(p) + ".log") }

// Client is a new client as the administrator.
func (c *Cluster) Client() (*kube.Client, error) { return kube.Load(c.Kubeconfig()) }

func (c *Cluster) pidFile(p Part) string { return c.Path(string(p) + ".pid") }

// Running says whether a part's program exists (it may be paused).
func (c *Cluster) Running(p Part) bool {
	_, ok := readPid(c.pidFile(p))
	return ok
}

// Kill ends parts with SIGKILL, Stop with SIGTERM; both return when they are gone. A part that
// does not run is fine.
func (c *Cluster) Kill(parts ...Part) error { return c.end(syscall.SIGKILL, parts) }
func (c *Cluster) Stop(parts ...Part) error { return c.end(syscall.SIGTERM, parts) }

// Pause freezes parts with SIGSTOP: their sockets stay open and nothing answers. Resume thaws.
func (c *Cluster) Pause(parts ...Part) error  { return c.signal(syscall.SIGSTOP, parts) }
func (c *Cluster) Resume(parts ...Part) error { return c.signal(syscall.SIGCONT, parts) }

// Pids are the processes that store and serve the cluster's objects.
func (c *Cluster) Pids() (pids []int) {
	for _, part := range []Part{Etcd, APIServer} {
		if p, ok := readPid(c.pidFile(part)); ok {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

func (c *Cluster) signal(s syscall.Signal, parts []Part) error {
	for _, part := range parts {
		p, ok := readPid(c.pidFile(part))
		if !ok {
			return fmt.Errorf("%s: the %s does not run", c.Name, part)
		}
		p.signal(s)
	}
	return nil
}

func (c *Cluster) end(s syscall.Signal, parts []Part) error {
	running := map[Part]process{}
	for _, part := range parts {
		if p, ok := readPid(c.pidFile(part)); ok {
			p.signal(s)
			running[part] = p
		}
	}
	for part, p := range running {
		if err := p.end(s, stopGrace); err != nil {
			return fmt.Errorf("%s %s: %w", c.Name, part, err)
		}
		os.Remove(c.pidFile(part))
	}
	return nil
}

// Start starts parts that do not run, on the data and ports that they had, and does not wait.
func (c *Cluster) Start(parts ...Part) error {
	for _, part := range parts {
		if c.Running(part) {
			continue
		}
		argv, env := c.command(part)
		argv = append(c.Enter(), argv...)
		if err := launch(c.bed.Dir, c.Log(part), c.pidFile(part), env, argv); err != nil {
			return fmt.Errorf("%s %s: %w", c.Name, part, err)
		}
	}
	return nil
}

// Await returns when a part answers that it is ready, or with the end of its log when it ended.
func (c *Cluster) Await(ctx context.Context, part Part) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	var last error
	for {
		if last = c.ready(ctx, client, part); last == nil {
			return nil
		}
		if !c.Running(part) {
			return fmt.Errorf("%s: the %s ended:\n%s", c.Name, part, tail(c.Log(part), 5))
		}
		if !kube.Pause(ctx, 25*time.Millisecond) {
			return fmt.Errorf("%s: the %s is not ready (%v), its log ends:\n%s", c.Name, part, last, tail(c.Log(part), 5))
		}
	}
}

func (c *Cluster) ready(ctx context.Context, client *kube.Client, part Part) error {
	switch part {
	case APIServer:
		_, err := client.Do(ctx, http.MethodGet, "/readyz", "", nil)
		return err
	case Controllers: // they serve nothing; what they make first is the sign
		_, err := client.Get(ctx, kube.ServiceAccounts.Path("default", "default"))
		return err
	}
	port := c.Port.Etcd
	if part == Proxy {
		port = c.Port.Proxy
	}
	connection, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", c.Address, port), time.Second)
	if err == nil {
		connection.Close()
	}
	return err
}

// up starts the whole cluster and returns when it can be used.
func (c *Cluster) up(ctx context.Context) error {
	if err := c.Start(Etcd, APIServer); err != nil {
		return err
	}
	if err := c.Await(ctx, APIServer); err != nil {
		return err
	}
	if err := c.Start(Controllers); err != nil {
		return err
	}
	return c.Await(ctx, Controllers)
}

// create makes the cluster's folder: keys, certificates and the kubeconfigs of its people.
func (c *Cluster) create() error {
	if err := os.RemoveAll(c.Path()); err != nil { // logs of an earlier bed
		return err
	}
	if err := os.MkdirAll(c.Path("pki"), 0o700); err != nil {
		return err
	}
	ca, err := newAuthority(c.Name)
	if err != nil {
		return err
	}
	certificate, key, err := c.serverCertificate(ca)
	if err != nil {
		return err
	}
	files := map[string][]byte{"ca.crt": ca.pem, "pki/server.crt": certificate, "pki/server.key": key}
	for file, name := range map[string]pkix.Name{
		"admin.kubeconfig":       {CommonName: "admin", Organization: []string{"system:masters"}},
		"break-glass.kubeconfig": {CommonName: "admin", Organization: []string{"system:masters", "understudy:break-glass"}},
		// This very name, and an account for each controller: the admission policies know them.
		"pki/controllers.kubeconfig": {CommonName: "system:kube-controller-manager"},
	} {
		certificate, key, err := ca.issue(name, nil, nil)
		if err != nil {
			return err
		}
		files[file] = kube.Kubeconfig(c.URL(), ca.pem, kube.User{Certificate: certificate, Key: key})
	}
	for name, data := range files {
		if err := os.WriteFile(c.Path(name), data, 0o600); err != nil {
			return err
		}
	}
	return writeAccountKeys(c.Path("pki"))
}

func (c *Cluster) serverCertificate(ca *authority) (certificate, key []byte, err error) {
	addresses := []net.IP{net.IPv4(127, 0, 0, 1)}
	if ip := net.ParseIP(c.Address); !ip.IsLoopback() {
		addresses = append(addresses, ip)
	}
	return ca.issue(pkix.Name{CommonName: "kube-apiserver"}, []string{"localhost", "kubernetes.default.svc", c.Name}, addresses)
}

// Parts turns words of a command line into parts: "all", or none, is the control plane.
func Parts(words []string) ([]Part, error) {
	if len(words) == 0 || slices.Equal(words, []string{"all"}) {
		return ControlPlane, nil
	}
	var parts []Part
	for _, word := range words {
		if !slices.Contains([]Part{Etcd, APIServer, Controllers, Proxy}, Part(word)) {
			return nil, fmt.Errorf("no part %q: want etcd, apiserver, controllers, proxy or all", strings.TrimSpace(word))
		}
		parts = append(parts, Part(word))
	}
	return parts, nil
}
