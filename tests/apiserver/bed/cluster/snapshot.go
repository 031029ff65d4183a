package cluster

import (
	"fmt"
	"os"
	"slices"
)

// Snapshot keeps a copy of the cluster's data under a name. etcd is paused for it, so the copy is
// what a machine that stops dead would leave.
func (c *Cluster) Snapshot(name string) error {
	if !clusterName.MatchString(name) {
		return fmt.Errorf("snapshot name %q: want letters, digits and hyphens", name)
	}
	if c.Running(Etcd) {
		if err := c.Pause(Etcd); err != nil {
			return err
		}
		defer c.Resume(Etcd)
	}
	if err := os.RemoveAll(c.data("snapshot", name)); err != nil {
		return err
	}
	return os.CopyFS(c.data("snapshot", name), os.DirFS(c.data("etcd")))
}

// Restore kills the cluster, puts a copy in the place of its data and starts again what ran. All
// resource versions go back, and what was made since is gone. It does not wait.
func (c *Cluster) Restore(name string) error {
	if _, err := os.Stat(c.data("snapshot", name)); err != nil || !clusterName.MatchString(name) {
		return fmt.Errorf("%s has no snapshot %q", c.Name, name)
	}
	parts := slices.DeleteFunc(slices.Clone(ControlPlane), func(p Part) bool { return !c.Running(p) })
	if err := c.Kill(parts...); err != nil {
		return err
	}
	if err := os.RemoveAll(c.data("etcd")); err != nil {
		return err
	}
	if err := os.CopyFS(c.data("etcd"), os.DirFS(c.data("snapshot", name))); err != nil {
		return err
	}
	return c.Start(parts...)
}

// Wipe takes the data of a cluster that is down: what is started next is another cluster with the same
// certificates.
func (c *Cluster) Wipe() error {
	if c.Running(Etcd) {
		return fmt.Errorf("%s runs", c.Name)
	}
	return os.RemoveAll(c.data("etcd"))
}
