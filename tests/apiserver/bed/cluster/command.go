package cluster

import (
	"fmt"
	"path/filepath"
)

// Half the usual headroom of the garbage collector: three control planes share the machine with
// the tests, and the servers are idle most of the time.
var goMemory = []string{"GOGC=50"}

func (c *Cluster) data(name ...string) string {
	return filepath.Join(append([]string{c.bed.Data, c.Name}, name...)...)
}

// command is the whole command line of a part.
func (c *Cluster) command(part Part) (argv, env []string) {
	switch part {
	case Etcd:
		return c.etcd(), goMemory
	case APIServer:
		return c.apiserver(), goMemory
	case Controllers:
		return c.controllers(), goMemory
	}
	return []string{c.bed.Launcher, "proxy", "--dir", c.bed.Dir, c.Name}, nil
}

func (c *Cluster) etcdURL() string { return fmt.Sprintf("http://%s:%d", c.Address, c.Port.Etcd) }

func (c *Cluster) etcd() []string {
	peer := fmt.Sprintf("http://%s:%d", c.Address, c.Port.EtcdPeer)
	argv := []string{
		c.bed.Kubebed, "etcd",
		"--name=" + c.Name, "--data-dir=" + c.data("etcd"),
		"--listen-client-urls=" + c.etcdURL(), "--advertise-client-urls=" + c.etcdURL(),
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + c.Name + "=" + peer,
		// A killed etcd loses nothing by it, only a killed machine would.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
	return append(argv, c.bed.EtcdFlags...)
}

func (c *Cluster) apiserver() []string {
	pki := c.Path("pki")
	argv := []string{
		c.bed.Kubebed, "kube-apiserver",
		"--bind-address=" + c.Address, "--advertise-address=" + c.Address,
		fmt.Sprintf("--secure-port=%d", c.Port.API),
		"--etcd-servers=" + c.etcdURL(),
		"--tls-cert-file=" + pki + "/server.crt", "--tls-private-key-file=" + pki + "/server.key",
		"--client-ca-file=" + c.CAFile(), "--cert-dir=" + c.data("apiserver"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + pki + "/accounts.pub",
		"--service-account-signing-key-file=" + pki + "/accounts.key",
		"--service-cluster-ip-range=10.96.0.0/24",
		// No pods here: nothing to give a token to, and no endpoints of ourselves to publish.
		"--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none",
		"--profiling=false",
	}
	return append(append(argv, c.bed.APIServerFlags...), c.APIServerFlags...)
}

// controllers end when they find no API server within ten seconds, which one that starts beside them
// on a busy machine may need: they are begun when there is one.
func (c *Cluster) controllers() []string {
	pki := c.Path("pki")
	return []string{
		c.bed.Launcher, "behind", "--kubeconfig", pki + "/controllers.kubeconfig", "--",
		c.bed.Kubebed, "kube-controller-manager",
		"--kubeconfig=" + pki + "/controllers.kubeconfig", "--use-service-account-credentials",
		"--service-account-private-key-file=" + pki + "/accounts.key",
		"--root-ca-file=" + c.CAFile(),
		"--controllers=serviceaccount-controller,serviceaccount-token-controller," +
			"namespace-controller,garbage-collector-controller",
		"--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=200", "--kube-api-burst=200",
	}
}
