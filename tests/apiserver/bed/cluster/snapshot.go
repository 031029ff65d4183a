package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
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
	return c.replace(func() error { return os.CopyFS(c.data("etcd"), os.DirFS(c.data("snapshot", name))) })
}

// replace kills the cluster, lets its data be made anew and starts again what ran.
func (c *Cluster) replace(data func() error) error {
	parts := slices.DeleteFunc(slices.Clone(ControlPlane), func(p Part) bool { return !c.Running(p) })
	if err := c.Kill(parts...); err != nil {
		return err
	}
	if err := os.RemoveAll(c.data("etcd")); err != nil {
		return err
	}
	if err := data(); err != nil {
		return err
	}
	return c.Start(parts...)
}

// Backup is what `etcdctl snapshot save` writes: etcd's own snapshot, with its checksum at the end.
func (c *Cluster) Backup(ctx context.Context, name string) error {
	if !clusterName.MatchString(name) {
		return fmt.Errorf("backup name %q: want letters, digits and hyphens", name)
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcdURL()+"/v3/maintenance/snapshot", bytes.NewReader([]byte("{}")))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := os.MkdirAll(c.data("backup"), 0o700); err != nil {
		return err
	}
	file, err := os.Create(c.data("backup", name))
	if err != nil {
		return err
	}
	defer file.Close()
	for blocks := json.NewDecoder(answer.Body); ; {
		var block struct {
			Result struct{ Blob []byte }
			Error  any
		}
		if err := blocks.Decode(&block); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil || block.Error != nil {
			return fmt.Errorf("%s: a snapshot of etcd: %v %v", c.Name, err, block.Error)
		}
		if _, err := file.Write(block.Result.Blob); err != nil {
			return err
		}
	}
}

// RestoreAhead restores a backup as Kubernetes advises it: etcd's versions jump ahead of all that it ever
// gave, so that no client takes an old object for a new one, and what was before is compacted.
func (c *Cluster) RestoreAhead(name string) error {
	peer := fmt.Sprintf("http://%s:%d", c.Address, c.Port.EtcdPeer)
	return c.replace(func() error {
		out, err := exec.Command(c.bed.Kubebed, "etcdutl", "snapshot", "restore", c.data("backup", name),
			"--data-dir="+c.data("etcd"), "--name="+c.Name, "--initial-advertise-peer-urls="+peer,
			"--initial-cluster="+c.Name+"="+peer, "--bump-revision=1000000000", "--mark-compacted").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s: etcdutl snapshot restore: %w: %s", c.Name, err, out)
		}
		return err
	})
}

// Wipe takes the data of a cluster that is down: what is started next is another cluster with the same
// certificates.
func (c *Cluster) Wipe() error {
	if c.Running(Etcd) {
		return fmt.Errorf("%s runs", c.Name)
	}
	return os.RemoveAll(c.data("etcd"))
}
