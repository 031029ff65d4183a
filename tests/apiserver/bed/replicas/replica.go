package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/fence"
)

// replica is one understudyd with its own run directory, uids and port.
type replica struct {
	name   string
	suite  *suite
	uids   int
	port   int
	daemon *exec.Cmd
	done   chan struct{}
	opened *fence.Page
}

func (r *replica) path(file string) string { return filepath.Join(r.suite.Dir, r.name, file) }
func (r *replica) directory() string       { return filepath.Join(r.suite.Bed.Data, "run", r.name) }
func (r *replica) log() string             { return filepath.Join(r.suite.Dir, r.name+".log") }

// newReplica writes its credential and its configuration.
func (s *suite) newReplica(ctx context.Context, i, uids int) (*replica, error) {
	port, err := cluster.FreePort()
	if err != nil {
		return nil, err
	}
	r := &replica{name: fmt.Sprintf("replica-%d", i+1), suite: s, uids: uids + pair.UIDRange*i, port: port}
	if err := os.MkdirAll(r.path(""), 0o755); err != nil {
		return nil, err
	}
	// The run directories and the log of writes lie beside etcd's data, on a tmpfs.
	if err := os.Chmod(s.Bed.Data, 0o755); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.directory(), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(s.writes, nil, 0o666); err != nil {
		return nil, err
	}
	if err := os.Chmod(s.writes, 0o666); err != nil {
		return nil, err
	}
	token, err := s.admin.Token(ctx, namespace, "understudy-replica", 24*time.Hour)
	if err != nil {
		return nil, err
	}
	credential := kube.Kubeconfig(s.admin.Server, s.admin.CA, kube.User{Token: token})
	if err := os.WriteFile(r.path("elector.kubeconfig"), credential, 0o400); err != nil {
		return nil, err
	}
	return r, os.WriteFile(r.path("understudy.yaml"), []byte(r.yaml()), 0o600)
}

// yaml is the configuration. The workload writes a line each 20 ms: who, its term, the boot clock.
func (r *replica) yaml() string {
	script := "while read up idle </proc/uptime; do echo \"$0 $UNDERSTUDY_TERM $up\"; sleep 0.02; done >>" + r.suite.writes
	command, _ := json.Marshal([]string{"/bin/sh", "-c", script, r.name})
	return fmt.Sprintf(`mode: replicas
self: %s
namespace: %s
lease: {duration: 3s, renew-deadline: 2.5s, retry-period: 0.4s}
credentials: {elector: {kubeconfig: %s}}
workload: {command: %s, stop-grace: 0s}
listen: {http: "127.0.0.1:%d"}
dial: {allow: [127.0.0.0/8]}
run: {directory: %s, uid-base: %d}
`, r.name, namespace, r.path("elector.kubeconfig"), command, r.port, r.directory(), r.uids)
}

// alone is the configuration of mode standalone, which asks no API server.
func (r *replica) alone() string {
	return fmt.Sprintf(`mode: standalone
self: %s
hubs: [{name: %s}]
lease: {duration: 3s, renew-deadline: 2.5s, retry-period: 0.4s}
workload: {command: [/bin/sleep, infinity], stop-grace: 0s}
listen: {http: "127.0.0.1:%d"}
run: {directory: %s, uid-base: %d}
`, r.name, r.name, r.port, r.directory(), r.uids)
}

func (r *replica) program() string { return filepath.Join(r.suite.Root, "build/understudyd") }

// start starts its understudyd, marked so that the bed's end is its end.
func (r *replica) start() error { return r.startWith("understudy.yaml") }

func (r *replica) startWith(configuration string) error {
	file, err := os.OpenFile(r.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	daemon := exec.Command(r.program(), "--config", r.path(configuration))
	daemon.Stdout, daemon.Stderr = file, file
	daemon.Env = []string{"PATH=" + os.Getenv("PATH"), r.suite.Bed.Mark()}
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := daemon.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		daemon.Wait()
		close(done)
	}()
	r.daemon, r.done = daemon, done
	return nil
}

func (r *replica) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// end sends a signal to understudyd and waits until it is gone.
func (r *replica) end(signal syscall.Signal) error {
	r.daemon.Process.Signal(signal)
	select {
	case <-r.done:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s is still there", r.name)
	}
}

func (r *replica) kill() {
	if r.daemon != nil && !r.ended() {
		r.end(syscall.SIGKILL)
	}
}

// page says whether the fence page is open, and for which term. Who opened it once sees what
// becomes of it, for it is never replaced.
func (r *replica) page() (uint64, bool) {
	if r.opened == nil {
		r.opened, _ = fence.Open(filepath.Join(r.directory(), "fence"))
	}
	if r.opened == nil {
		return 0, false
	}
	return r.opened.Term()
}

// processes are the children of its understudyd by program, with their pids.
func (r *replica) processes() map[string]int {
	found := map[string]int{}
	for p := range pair.Procs {
		if p.Number("PPid") != r.daemon.Process.Pid {
			continue
		}
		if program := p.Program(); program != "" {
			found[strings.TrimSuffix(filepath.Base(program), " (deleted)")] = p.Pid
		}
	}
	return found
}

// workload says whether any process of the workload's uid is there.
func (r *replica) workload() bool {
	for p := range pair.Procs {
		if p.Number("Uid") == r.uids+8 && p.Lives() {
			return true
		}
	}
	return false
}

// bootNow is the clock of pages and of what workloads write.
func bootNow() time.Duration {
	var ts syscall.Timespec
	const boottime = 7
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, boottime, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}

// lastWrite is when the workload of a replica in a term wrote its last line.
func (s *suite) lastWrite(run string) (time.Duration, error) {
	text, err := os.ReadFile(s.writes)
	if err != nil {
		return 0, err
	}
	at := strings.LastIndex(string(text), run+" ")
	if at < 0 {
		return 0, fmt.Errorf("%s (replica, term) has written nothing", run)
	}
	up, _, _ := strings.Cut(string(text[at+len(run)+1:]), "\n")
	return time.ParseDuration(up + "s")
}

// told is what GET /leader answers.
type told struct {
	Code            int
	Term            uint64
	RemainingMs     int64
	Leader          string
	LeaderSeenAgoMs int64
}

func (r *replica) get(path string) (int, string, error) {
	client := http.Client{Timeout: patience}
	reply, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d%s", r.port, path))
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(text), err
}

func (r *replica) told() (told, error) {
	code, text, err := r.get("/leader")
	t := told{Code: code}
	if err == nil {
		err = json.Unmarshal([]byte(text), &t)
	}
	return t, err
}

// ctl runs understudyctl on it.
func (r *replica) ctl(words ...string) (string, int) {
	command := exec.Command(filepath.Join(r.suite.Root, "build/understudyctl"),
		append([]string{"--socket", filepath.Join(r.directory(), "status.sock")}, words...)...)
	out, _ := command.CombinedOutput()
	return string(out), command.ProcessState.ExitCode()
}
