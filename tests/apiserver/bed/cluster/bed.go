package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"
)

// upTime is how long all clusters together may take to start, on a busy machine.
const upTime = 5 * time.Minute

// Bed is a folder of clusters. Its exported fields are what its file bed.json keeps; they do not
// change while it stands.
type Bed struct {
	Dir                       string // absolute
	Data                      string // etcd's folders, on a tmpfs where there is one
	Kubebed                   string // the control-plane programs
	Launcher                  string // the command build/bed, for the guard and the proxies
	EtcdFlags, APIServerFlags []string
	Network                   *Network // nil when no cluster has its own network namespace
	Clusters                  []*Cluster
}

// Options say what Up shall make.
type Options struct {
	Dir                       string
	Kubebed, Launcher         string
	Names                     []string // of the clusters
	Isolated                  []string // those in a network namespace of their own
	Owner                     int      // the bed ends when this process does; 0: it stays
	EtcdFlags, APIServerFlags []string
	FlagsOf                   map[string][]string // more for the API server of one cluster
}

var clusterName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

func (o *Options) check() error {
	if len(o.Names) == 0 {
		return errors.New("name at least one cluster")
	}
	for i, name := range o.Names {
		if !clusterName.MatchString(name) {
			return fmt.Errorf("cluster name %q: want letters, digits and hyphens, 40 at most", name)
		}
		if slices.Contains(o.Names[:i], name) {
			return fmt.Errorf("cluster %s is named twice", name)
		}
	}
	for _, name := range o.Isolated {
		if !slices.Contains(o.Names, name) {
			return fmt.Errorf("%s shall be isolated but is no cluster of this bed", name)
		}
	}
	return nil
}

// Up makes a bed and returns when all its clusters can be used. On an error nothing is left
// running; the logs are.
func Up(ctx context.Context, o Options) (*Bed, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if old, err := Open(dir); err == nil {
		if len(marked(dir)) > 0 {
			return nil, fmt.Errorf("%s: a bed is up here already, end it first: bed down --dir %s", dir, o.Dir)
		}
		old.clear(true)
	}
	b, release, err := plan(dir, o)
	if err != nil {
		return nil, err
	}
	if err := b.build(ctx, o.Owner, release); err != nil {
		b.clear(true)
		return nil, err
	}
	return b, nil
}

// plan chooses all places and ports and starts nothing.
func plan(dir string, o Options) (b *Bed, release func(), err error) {
	b = &Bed{Dir: dir, Kubebed: o.Kubebed, Launcher: o.Launcher, EtcdFlags: o.EtcdFlags, APIServerFlags: o.APIServerFlags}
	if b.Kubebed, err = filepath.Abs(o.Kubebed); err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(b.Kubebed); err != nil {
		return nil, nil, fmt.Errorf("%w (tools/kubebed.sh builds it)", err)
	}
	if b.Data, err = dataFolder(dir); err != nil {
		return nil, nil, err
	}
	if len(o.Isolated) > 0 {
		if b.Network, err = planNetwork(); err != nil {
			return nil, nil, err
		}
	}
	ports, release, err := freePorts(4 * len(o.Names))
	if err != nil {
		return nil, nil, err
	}
	for i, name := range o.Names {
		c := &Cluster{Name: name, Address: "127.0.0.1", APIServerFlags: o.FlagsOf[name], bed: b}
		if b.Network != nil {
			c.Address = b.Network.Gateway
			if slices.Contains(o.Isolated, name) {
				c.Link = b.Network.planLink(i)
				c.Address = c.Link.Address
			}
		}
		p := ports[4*i:]
		c.Port.Etcd, c.Port.EtcdPeer, c.Port.API, c.Port.Proxy = p[0], p[1], p[2], p[3]
		b.Clusters = append(b.Clusters, c)
	}
	return b, release, nil
}

// build makes what was planned. bed.json is written first: what it names can be taken down.
func (b *Bed) build(ctx context.Context, owner int, release func()) error {
	text, err := json.MarshalIndent(b, "", "\t")
	if err == nil {
		err = writeFile(b.file(), append(text, '\n'), 0o644)
	}
	if err == nil && owner != 0 {
		err = b.startGuard(owner)
	}
	if err == nil && b.Network != nil {
		err = b.Network.create(b.Clusters)
	}
	release()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, upTime)
	defer cancel()
	var group sync.WaitGroup
	errs := make([]error, len(b.Clusters))
	for i, c := range b.Clusters {
		group.Go(func() {
			if errs[i] = c.create(); errs[i] == nil {
				errs[i] = c.up(ctx)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// Open reads the bed in a folder.
func Open(dir string) (*Bed, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	b := &Bed{Dir: dir}
	text, err := os.ReadFile(b.file())
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: no bed is up here: %w", dir, err)
	}
	if err == nil {
		err = json.Unmarshal(text, b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.file(), err)
	}
	for _, c := range b.Clusters {
		c.bed = b
	}
	return b, nil
}

func (b *Bed) file() string { return filepath.Join(b.Dir, "bed.json") }

// Cluster finds a cluster by name.
func (b *Bed) Cluster(name string) (*Cluster, error) {
	for _, c := range b.Clusters {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no cluster %q in %s", name, b.Dir)
}

// Down ends everything of the bed in a folder and removes it, but for the logs if they are to be
// kept. A folder without a bed is fine. Waits for an Up that is under way.
func Down(dir string, keepLogs bool) error {
	return downIf(dir, keepLogs, func() bool { return true })
}

// downIf is Down if it is still wanted once nobody else changes the folder.
func downIf(dir string, keepLogs bool, wanted func() bool) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	unlock, err := lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	if !wanted() {
		return nil
	}
	b, err := Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		b = &Bed{Dir: dir}
	} else if err != nil {
		return err
	}
	return b.clear(keepLogs)
}

// clear kills and removes. The programs are found by their mark, so none is missed.
func (b *Bed) clear(keepLogs bool) error {
	for all := marked(b.Dir); len(all) > 0; all = marked(b.Dir) {
		for _, p := range all {
			p.signal(syscall.SIGKILL)
		}
		for _, p := range all {
			if err := p.end(syscall.SIGKILL, 0); err != nil {
				return err
			}
		}
	}
	if b.Network != nil {
		b.Network.remove(b.Clusters)
	}
	if b.Data != "" {
		if err := os.RemoveAll(b.Data); err != nil {
			return err
		}
	}
	os.Remove(b.file())
	if !keepLogs {
		// Whoever waits for the lock makes the lock's file again meanwhile.
		err := os.RemoveAll(b.Dir)
		for tries := 0; errors.Is(err, syscall.ENOTEMPTY) && tries < 10; tries++ {
			err = os.RemoveAll(b.Dir)
		}
		return err
	}
	for _, c := range b.Clusters {
		entries, _ := os.ReadDir(c.Path())
		for _, e := range entries {
			if filepath.Ext(e.Name()) != ".log" {
				os.RemoveAll(c.Path(e.Name()))
			}
		}
	}
	return nil
}

// dataFolder is a new folder for etcd: in memory where the machine lets us, else beside the rest.
func dataFolder(dir string) (string, error) {
	const shared = "/dev/shm"
	var fs syscall.Statfs_t
	const tmpfs, room = 0x01021994, 512 << 20
	if syscall.Statfs(shared, &fs) == nil && uint32(fs.Type) == tmpfs && fs.Bavail*uint64(fs.Bsize) > room {
		if path, err := os.MkdirTemp(shared, "understudy-bed-"); err == nil {
			return path, nil
		}
	}
	path := filepath.Join(dir, "data")
	return path, os.MkdirAll(path, 0o700)
}

// lock serialises Up and Down of a folder. Down removes the folder with the lock in it, so a
// waiter that gets the lock of a removed file tries again on the new one.
func lock(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, "lock")
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		held, err := file.Stat()
		now, statErr := os.Stat(path)
		if err == nil && statErr == nil && os.SameFile(held, now) {
			return func() { file.Close() }, nil
		}
		file.Close()
		if errors.Is(statErr, os.ErrNotExist) {
			if _, err := os.Stat(dir); err != nil {
				return nil, fmt.Errorf("%s was removed meanwhile: %w", dir, err)
			}
		}
	}
}
