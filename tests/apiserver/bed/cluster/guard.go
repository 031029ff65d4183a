package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"understudy.test/bed/kube"
)

// guardPeriod is how soon after its owner's death a bed comes down.
const guardPeriod = 200 * time.Millisecond

// startGuard starts a process of its own that outlives us and takes the bed down when the owner
// dies, however it dies. It carries no mark, since Down kills what does, and ends with the bed.
func (b *Bed) startGuard(owner int) error {
	p, ok := inspect(owner)
	if !ok {
		return errors.New("the owner is gone already")
	}
	log, err := os.Create(filepath.Join(b.Dir, "guard.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	guard := exec.Command(b.Launcher, "guard", "--dir", b.Dir, strconv.Itoa(p.pid), strconv.FormatUint(p.start, 10))
	guard.Stdout, guard.Stderr = log, log
	guard.Dir = "/"
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := guard.Start(); err != nil {
		return err
	}
	go guard.Wait()
	return nil
}

// Guard is that process. A bed that was made anew in the same folder has its own guard.
func Guard(dir string, pid int, start uint64) error {
	owner := process{pid, start}
	b := &Bed{Dir: dir}
	mine, err := os.Stat(b.file())
	if err != nil {
		return err
	}
	mineStill := func() bool {
		now, err := os.Stat(b.file())
		return err == nil && same(mine, now)
	}
	for owner.alive() {
		if !mineStill() {
			return nil
		}
		kube.Pause(context.Background(), guardPeriod)
	}
	if !mineStill() {
		return nil
	}
	return downIf(dir, true, mineStill)
}

// same says whether a file is still the one that was there before. The inode alone does not tell:
// a new file may get the number of one that was just removed.
func same(before, now os.FileInfo) bool {
	return os.SameFile(before, now) && before.ModTime().Equal(now.ModTime())
}
