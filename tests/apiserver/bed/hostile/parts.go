package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// silence is longer than a Standby of the fast profile needs to promote itself.
const silence = 6 * time.Second

// requests is how many a hostile role says it made.
var requests = regexp.MustCompile(`done: (\d+) requests, (\d+) refused`)

// boasts is nil when nothing that an API server accepted lies outside of what the role is for.
func (r *run) boasts(since int, inside func(line string) bool) error {
	var wrong []string
	for line := range strings.Lines(r.logged(since)) {
		if strings.Contains(line, "hostile: accepted:") && !inside(line) {
			wrong = append(wrong, strings.TrimSpace(line))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d accepted: %s", len(wrong), strings.Join(wrong[:min(3, len(wrong))], ", "))
	}
	return nil
}

// inMirror says whether a request of the syncer on its own hub stays in what it mirrors, or keeps
// an archive of it.
func inMirror(line string) bool {
	for _, place := range []string{
		"/namespaces/" + pair.Project, "/namespaces/evil", "/namespaces/" + pair.Namespace + "/projects",
	} {
		if strings.Contains(line, place) && !strings.Contains(line, "peer-syncer") {
			return true
		}
	}
	return false
}

// tried is nil when so many requests were made and answered.
func tried(line string, least int) (int, error) {
	m := requests.FindStringSubmatch(line)
	if m == nil {
		return 0, fmt.Errorf("no count in %q", line)
	}
	made, _ := strconv.Atoi(m[1])
	refused, _ := strconv.Atoi(m[2])
	if made < least || refused < least/2 {
		return made, fmt.Errorf("only %d requests, %d refused", made, refused)
	}
	return made, nil
}

// counted is nil once hub-b's metrics have an accusation of the process that ended so.
func (r *run) counted(ctx context.Context, process, outcome string) error {
	series := fmt.Sprintf("understudy_accusations_total{process=%q,outcome=%q} ", process, outcome)
	return see.Eventually(ctx, patience, func() error {
		reply, err := http.Get(r.b.HTTP() + "/metrics")
		if err != nil {
			return err
		}
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		if err == nil && !strings.Contains(string(text), "\n"+series) {
			err = fmt.Errorf("hub-b's metrics have no %s", series)
		}
		return err
	})
}

// syncer: the list, what is not its to say, then random requests.
func (r *run) syncer(ctx context.Context) error {
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	term, _ := see.Leading(r.a)
	since := len(r.logged(0))
	if err := r.order(ctx, "syncer", "list", syncerUID); err != nil {
		return err
	}
	line, err := r.says(ctx, since, "syncer", "hostile: list done")
	if err != nil {
		return err
	}
	made, err := tried(line, 80)
	r.check(errors.Join(err, r.boasts(since, inMirror)), "a hostile syncer asks for everything in its list: %d requests, none accepted outside of the mirror", made)
	_, err = r.says(ctx, since, "accuses syncer of a bad message")
	r.check(err, "it asks its dialer for a worker: logged, and the link is cut")
	_, err = r.says(ctx, since, "syncer", "is killed", "outranks it")
	r.check(err, "it sends the elector what is not its to send: logged, and it is killed")
	r.check(errors.Join(r.counted(ctx, "syncer", "cut"), r.counted(ctx, "syncer", "killed")), "both are counted for whoever reads metrics")

	since = len(r.logged(0))
	if err := r.order(ctx, "syncer", fmt.Sprintf("random %d %d", r.Random, r.Seed), syncerUID); err != nil {
		return err
	}
	if line, err = r.says(ctx, since, "syncer", "hostile: random done"); err != nil {
		return err
	}
	made, err = tried(line, 100)
	r.check(errors.Join(err, r.boasts(since, inMirror)), "%d random requests in %d s, seed %d: none accepted outside of the mirror", made, r.Random, r.Seed)
	after, err := r.look(ctx)
	if err != nil {
		return err
	}
	r.same(before, after, "hostile syncer")
	r.check(errors.Join(r.leads(ctx, term), r.standsBy(ctx)), "hub-a leads as before, hub-b stands by")
	if err := r.order(ctx, "syncer", "", syncerUID); err != nil {
		return err
	}
	r.check(errors.Join(r.armed(ctx), r.equal(ctx)), "an honest syncer makes the mirror whole again")
	outside, err := read(ctx, r.b.Admin, true)
	if err == nil {
		err = same(before.all[1], outside)
	}
	r.check(err, "and outside of the mirror hub-b is still what it was")
	return nil
}

// equal waits until hub-b's own comparison of the hubs finds no difference. Of what a hostile syncer
// made up there may be so much that its deletion waits for a person's word (H8).
func (r *run) equal(ctx context.Context) error {
	return see.Eventually(ctx, patience, func() error {
		out, code, err := r.b.Ctl(ctx, 0, "sync", "diff")
		if strings.Contains(out, "its deletion is held") {
			_, _, _ = r.b.Ctl(ctx, 0, "sync", "confirm-deletes", "--yes", "hub-b")
		}
		if err == nil && code != 0 {
			err = fmt.Errorf("sync diff ends with %d: %s", code, out)
		}
		return err
	})
}

// monitor: wants to promote its hub; every lie costs it its life.
func (r *run) monitor(ctx context.Context) error {
	term, _ := see.Leading(r.a)
	since := len(r.logged(0))
	if err := r.order(ctx, "monitor", fmt.Sprintf("promote 0 %d", r.Seed), monitorUID); err != nil {
		return err
	}
	_, err := r.says(ctx, since, "monitor", "hostile: says what is not its to say")
	if err != nil {
		return err
	}
	_, err = r.says(ctx, since, "monitor", "is killed")
	r.check(errors.Join(err, stays(ctx, silence, func() error { return r.standsBy(ctx) })),
		"a hostile monitor wants a promotion: it is killed, logged, and nobody is promoted")
	if err := r.order(ctx, "monitor", "", monitorUID); err != nil {
		return err
	}
	r.check(errors.Join(r.armed(ctx), r.leads(ctx, term)), "an honest monitor shows that the others went on")
	r.check(r.counted(ctx, "syncer", "killed"), "and knows of whom others were accused before it came")
	return nil
}

// dialer: the observer's lies that the peer is gone; the followers see it, and hold the hub back.
func (r *run) dialer(ctx context.Context) error {
	term, _ := see.Leading(r.a)
	since := len(r.logged(0))
	if err := r.order(ctx, "observer-dialer", "refuse 2", obsDialerUID, observerUID); err != nil {
		return err
	}
	if _, err := r.says(ctx, since, "hostile: ends", "refuses every dial"); err != nil {
		return err
	}
	held := make(chan error, 1)
	go func() { held <- stays(ctx, silence+2*time.Second, func() error { return r.standsBy(ctx) }) }()
	_, err := r.says(ctx, since, "promotion refused", "workers see the peer renew")
	r.check(errors.Join(err, <-held), "a hostile observer's dialer hides a live peer: the workers attest it, nobody is promoted (C3)")
	if err := r.order(ctx, "observer-dialer", "", obsDialerUID); err != nil {
		return err
	}
	r.check(errors.Join(r.armed(ctx), r.leads(ctx, term)), "an honest dialer, and hub-b is armed")
	return nil
}

// repointer: the shard of worker-1 wants worker-2.
func (r *run) repointer(ctx context.Context) error {
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	since := len(r.logged(0))
	if err := r.order(ctx, "repointer", "list", firstShard); err != nil {
		return err
	}
	line, err := r.says(ctx, since, "repointer/0", "hostile: list done")
	if err != nil {
		return err
	}
	made, err := tried(line, 10)
	r.check(errors.Join(err, r.boasts(since, func(string) bool { return false })), "a hostile shard of worker-1 asks for what is not its own: %d requests, none accepted", made)
	_, err = r.says(ctx, since, "accuses repointer/0 of a bad message")
	r.check(err, "it asks its dialer for worker-2: logged, and the link is cut")
	_, err = r.says(ctx, since, "repointer/0", "is killed", "outranks it")
	r.check(errors.Join(err, r.counted(ctx, "repointer", "killed")), "it speaks for others: logged, counted, and it is killed")
	if err := r.order(ctx, "repointer", "", firstShard); err != nil {
		return err
	}
	after, err := r.look(ctx)
	if err != nil {
		return err
	}
	r.same(before, after, "hostile shard")
	return nil
}

// allGone is nil when nothing of a hub's understudyd is left: the processes that it had, its runner
// under uid 0 among them, and whoever else runs under its uids.
func allGone(h *pair.Hub, roles []pair.Role, workload int) error {
	if len(roles) < 8 || workload == 0 {
		return fmt.Errorf("%d roles ran and workload %d: too few to say anything", len(roles), workload)
	}
	for _, role := range roles {
		if err := syscall.Kill(role.Pid, 0); err == nil {
			return fmt.Errorf("%s, pid %d, is still there", role.Name, role.Pid)
		}
	}
	if n := h.Orphans(); n > 0 {
		return fmt.Errorf("%d processes under its uids", n)
	}
	return nil
}

// failOver: what was attacked does its work, and ends as a whole.
func (r *run) failOver(ctx context.Context) error {
	r.check(errors.Join(r.armed(ctx), r.equal(ctx)), "hub-b is armed, both hubs are equal")
	r.check(r.frozen(ctx), "hub-a's supervisor and elector stand still: its runner ends the workload (F5, H18)")
	r.a.Kill()
	if err := r.a.Cluster.Kill(cluster.ControlPlane...); err != nil {
		return err
	}
	_, _, err := see.Page(ctx, r.b, true, patience)
	r.check(errors.Join(err, r.b.Fault(), r.follow(ctx, r.b)), "hub-a is killed: hub-b takes over, both workers follow it")
	_, err = r.b.Admin.Get(ctx, kube.SliceConfigs.Path(pair.Project, "green"))
	r.check(err, "and it has the slices")

	var workload int
	err = see.Eventually(ctx, patience, func() error {
		if workload = r.b.Workload(); workload == 0 {
			return errors.New("hub-b leads and runs no workload")
		}
		return nil
	})
	roles := r.b.Roles()
	r.b.Kill()
	r.check(errors.Join(err, see.Eventually(ctx, patience, func() error { return allGone(r.b, roles, workload) })),
		"hub-b's supervisor is killed: all %d processes end with it, and the workload (P9)", len(roles))
	return nil
}

// frozen stops whoever could tell the runner of hub-a anything, and waits for the end of its workload.
func (r *run) frozen(ctx context.Context) error {
	const elector = 4
	if r.a.Workload() == 0 {
		return errors.New("hub-a runs no workload")
	}
	pids := []int{r.a.Daemon().Pid()}
	for _, role := range r.a.Roles() {
		if role.UID == r.a.UIDBase()+elector {
			pids = append(pids, role.Pid)
		}
	}
	if len(pids) != 2 {
		return errors.New("hub-a has no elector")
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return err
		}
	}
	return see.Eventually(ctx, patience, func() error {
		if pid := r.a.Workload(); pid != 0 {
			return fmt.Errorf("pid %d still runs", pid)
		}
		return nil
	})
}
