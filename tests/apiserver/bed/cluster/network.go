package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
)

// Network joins the machine and the network namespaces of a bed: a bridge with an address of the
// machine, and for each isolated cluster a veth pair from the bridge into its namespace. Cutting
// a link takes the bridge's end down: established connections go silent, new ones find nobody,
// and inside the namespace everything still reaches each other.
type Network struct {
	Bridge  string
	Gateway string // the machine's address on the bridge
	id      string
	prefix  string
}

// Link is an isolated cluster's end of it.
type Link struct {
	Namespace string // below /run/netns
	Interface string // the bridge's end of the pair
	Address   string
}

const insideLink = "eth0" // the other end

// planNetwork picks names and a subnet that the machine does not use.
func planNetwork() (*Network, error) {
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, fmt.Errorf("network namespaces need the command ip (Debian package iproute2): %w", err)
	}
	used, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for range 100 {
		id := fmt.Sprintf("%04x", rand.IntN(1<<16))
		n := &Network{Bridge: "us" + id + "br", id: id, prefix: fmt.Sprintf("10.213.%d.", rand.IntN(255))}
		n.Gateway = n.prefix + "1"
		taken := false
		for _, address := range used {
			subnet, ok := address.(*net.IPNet)
			taken = taken || ok && subnet.Contains(net.ParseIP(n.Gateway))
		}
		if !taken {
			return n, nil
		}
	}
	return nil, fmt.Errorf("10.213.0.0/16 is used on this machine")
}

func (n *Network) planLink(i int) *Link {
	return &Link{
		Namespace: fmt.Sprintf("understudy-%s-%d", n.id, i),
		Interface: fmt.Sprintf("us%sv%d", n.id, i),
		Address:   fmt.Sprintf("%s%d", n.prefix, 10+i),
	}
}

func (n *Network) create(clusters []*Cluster) error {
	commands := []string{
		"link add " + n.Bridge + " type bridge",
		"address add " + n.Gateway + "/24 dev " + n.Bridge,
		"link set " + n.Bridge + " up",
	}
	for _, c := range clusters {
		if l := c.Link; l != nil {
			commands = append(commands,
				"netns add "+l.Namespace,
				"link add "+l.Interface+" type veth peer name "+insideLink+" netns "+l.Namespace,
				"link set "+l.Interface+" master "+n.Bridge+" up",
				"-n "+l.Namespace+" address add "+l.Address+"/24 dev "+insideLink,
				"-n "+l.Namespace+" link set "+insideLink+" up",
				"-n "+l.Namespace+" link set lo up",
			)
		}
	}
	for _, command := range commands {
		if err := ip(command); err != nil {
			return err
		}
	}
	return nil
}

// remove takes away whatever of it is there. The namespaces' processes are dead by now.
func (n *Network) remove(clusters []*Cluster) {
	for _, c := range clusters {
		if c.Link != nil {
			ip("link delete " + c.Link.Interface)
			ip("netns delete " + c.Link.Namespace)
		}
	}
	ip("link delete " + n.Bridge)
}

// Cut parts an isolated cluster from the machine and the other clusters; Heal joins them again.
func (c *Cluster) Cut() error  { return c.setLink("down") }
func (c *Cluster) Heal() error { return c.setLink("up") }

func (c *Cluster) setLink(state string) error {
	if c.Link == nil {
		return fmt.Errorf("%s has no network namespace of its own (bed up --netns %s)", c.Name, c.Name)
	}
	return ip("link set " + c.Link.Interface + " " + state)
}

// CutFrom parts two isolated clusters from each other and from nobody else, until HealFrom.
func (c *Cluster) CutFrom(other *Cluster) error  { return c.setPorts(other, "on") }
func (c *Cluster) HealFrom(other *Cluster) error { return c.setPorts(other, "off") }

// setPorts uses that a bridge carries nothing between two ports that are both isolated.
func (c *Cluster) setPorts(other *Cluster, state string) error {
	for _, one := range []*Cluster{c, other} {
		if one.Link == nil {
			return fmt.Errorf("%s has no network namespace of its own", one.Name)
		}
		if err := ip("link set dev " + one.Link.Interface + " type bridge_slave isolated " + state); err != nil {
			return err
		}
	}
	return nil
}

// localRules is where CutTo moves the rule that takes packets for the machine itself, in order to
// say before it which of them are not taken.
const localRules = 100

// CutTo drops whatever another cluster sends to this one's servers, without a word, and leaves the
// other direction as it is: who asks gets no answer, but may be asked. HealTo ends it.
func (c *Cluster) CutTo(from *Cluster) error {
	if c.Link == nil {
		return fmt.Errorf("%s has no network namespace of its own", c.Name)
	}
	inside := "-n " + c.Link.Namespace + " rule "
	if !c.oneWay {
		if err := ip(fmt.Sprintf("%sadd pref %d table local", inside, localRules)); err != nil {
			return err
		}
		if err := ip(inside + "del pref 0"); err != nil {
			return err
		}
		c.oneWay = true
	}
	for _, rule := range c.oneWayRules(from) {
		if err := ip(inside + "add " + rule); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) HealTo(from *Cluster) error {
	for _, rule := range c.oneWayRules(from) {
		if err := ip("-n " + c.Link.Namespace + " rule del " + rule); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) oneWayRules(from *Cluster) []string {
	var rules []string
	for i, port := range []int{c.Port.API, c.Port.Proxy} {
		rules = append(rules, fmt.Sprintf("pref %d from %s to %s iif %s ipproto tcp dport %d blackhole",
			10+i, from.Address, c.Address, insideLink, port))
	}
	return rules
}

// Enter is the command line that runs another one in the cluster's network namespace: the same
// pid, since nsenter becomes the program. Empty for a cluster that has none.
func (c *Cluster) Enter() []string {
	if c.Link == nil {
		return nil
	}
	return []string{"nsenter", "--net=/run/netns/" + c.Link.Namespace, "--"}
}

func ip(arguments string) error {
	output, err := exec.Command("ip", strings.Fields(arguments)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", arguments, err, strings.TrimSpace(string(output)))
	}
	return nil
}
