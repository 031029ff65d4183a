package pair

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a program that we started, in a session of its own.
type Process struct {
	command *exec.Cmd
	done    chan struct{}
}

// Start runs a program with its output appended to a log, marked so that the bed's end is its end.
func (p *Pair) Start(log string, argv ...string) (*Process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	started := &Process{command: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	started.command.Stdout, started.command.Stderr = file, file
	started.command.Env = []string{"PATH=" + os.Getenv("PATH"), p.bed.Mark()}
	started.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := started.command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(argv[0]), err)
	}
	go func() {
		started.command.Wait()
		close(started.done)
	}()
	return started, nil
}

// Pid of the process; Ended says whether it is gone.
func (p *Process) Pid() int { return p.command.Process.Pid }
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// End sends a signal and waits until the process is gone, or for so long.
func (p *Process) End(signal syscall.Signal, patience time.Duration) error {
	p.command.Process.Signal(signal)
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
		return errors.New("it is still there")
	}
}

// Start starts the hub's understudyd, in the network of its cluster.
func (h *Hub) Start() (err error) {
	switch {
	case h.Container != nil:
		return h.startContainer()
	case h.System != nil:
		return h.startSystem()
	}
	programs := h.Programs
	if programs == "" {
		programs = filepath.Join(h.pair.Root, "build")
	}
	argv := append(h.Cluster.Enter(), h.lacking()...)
	argv = append(argv, filepath.Join(programs, "understudyd"), "--config", h.Config())
	h.daemon, err = h.pair.Start(h.Log(), argv...)
	return err
}

// killTime is far longer than a killed process needs to go, on any machine that works.
const killTime = time.Minute

// Kill ends understudyd with SIGKILL, with no word to the processes below it.
func (h *Hub) Kill() {
	if h.daemon == nil {
		return
	}
	if h.Container != nil && h.Container.pid != 0 && !h.daemon.Ended() {
		syscall.Kill(h.Container.pid, syscall.SIGKILL)
		select {
		case <-h.daemon.done:
		case <-time.After(killTime):
		}
	}
	h.daemon.End(syscall.SIGKILL, killTime)
}

// Restart kills a running understudyd and starts it again.
func (h *Hub) Restart() {
	if h.daemon == nil {
		return
	}
	h.Kill()
	if err := h.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", h.Name, err)
	}
}

// Fault says why the hub's understudyd is not there, with the end of its log; nil when it runs.
func (h *Hub) Fault() error {
	if h.daemon != nil && !h.daemon.Ended() && (h.System == nil || h.systemPid() != 0) {
		return nil
	}
	text, _ := os.ReadFile(h.Log())
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("understudyd of %s ended: %s", h.Name, lines[len(lines)-1])
}

// Enter runs a command on the hub's side of its link and returns what it printed.
func (h *Hub) Enter(words ...string) (string, error) {
	argv := append(h.Cluster.Enter(), words...)
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	return string(out), err
}

// Daemon is the running understudyd, nil before Start.
func (h *Hub) Daemon() *Process { return h.daemon }

// Role is one running role process of a hub.
type Role struct {
	Name string // of its program
	Pid  int
	UID  int
}

// Roles are the children of the hub's understudyd, as the kernel lists them.
func (h *Hub) Roles() []Role {
	var roles []Role
	if h.daemon == nil {
		return nil
	}
	parent := h.Pid()
	for p := range Procs {
		if p.Number("PPid") != parent {
			continue
		}
		if program := p.Program(); program != "" {
			roles = append(roles, Role{filepath.Base(program), p.Pid, p.Number("Uid")})
		}
	}
	return roles
}

// Orphans are processes that still run under one of the hub's uids although understudyd is gone.
func (h *Hub) Orphans() int {
	n := 0
	for p := range Procs {
		if uid := p.Number("Uid"); uid >= h.UIDBase() && uid < h.UIDBase()+UIDRange && p.Lives() {
			n++
		}
	}
	return n
}

// WorkloadUID is the uid that the hub's workload, and nothing else, runs under.
func (h *Hub) WorkloadUID() int { return h.UIDBase() + 8 }

// Workload is the pid of the hub's workload, 0 when none runs.
func (h *Hub) Workload() int {
	for p := range Procs {
		if p.Number("Uid") == h.WorkloadUID() && p.Lives() {
			return p.Pid
		}
	}
	return 0
}
