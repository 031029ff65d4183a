package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/kube"
)

// marker is in the environment of every program that a bed starts, with the bed's folder behind
// it: a launcher that is killed between fork and the writing of the pid leaves a trace.
const marker = "UNDERSTUDY_BED="

// killTime is far longer than a killed process needs to go, on any machine that works.
const killTime = 30 * time.Second

// process is a program by its pid and start time: a pid that was given to another one does not match.
type process struct {
	pid   int
	start uint64 // clock ticks since boot, as in /proc/PID/stat
}

// inspect reads /proc; ok is false for a process that is gone or only waits to be reaped.
func inspect(pid int) (p process, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	// The command's name in brackets may hold anything, so count the fields from behind it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return process{}, false
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	// A zombie that still counts threads is one whose others are not through: its ports are taken.
	over := (fields[0] == "Z" || fields[0] == "X") && (fields[17] == "0" || fields[17] == "1")
	return process{pid, start}, err == nil && !over
}

func (p process) alive() bool {
	now, ok := inspect(p.pid)
	return ok && now == p
}

// signal sends to this very process: the handle is taken first, then the start time is compared.
func (p process) signal(s syscall.Signal) {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer handle.Release()
	if p.alive() {
		handle.Signal(s)
	}
}

// end signals and waits until the process is gone; one that outlives the grace is killed.
func (p process) end(s syscall.Signal, grace time.Duration) error {
	p.signal(s)
	if s != syscall.SIGKILL && p.gone(grace) {
		return nil
	}
	p.signal(syscall.SIGKILL)
	if !p.gone(killTime) {
		return fmt.Errorf("process %d does not die", p.pid)
	}
	return nil
}

func (p process) gone(within time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for p.alive() {
		if !kube.Pause(ctx, 2*time.Millisecond) {
			return false
		}
	}
	return true
}

// launch starts a program that outlives us, in a session of its own, writing to log.
func launch(bed, log, pidFile string, env, argv []string) error {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/", marker + bed}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	p, ok := inspect(cmd.Process.Pid)
	go cmd.Wait() // reaps it, where we live that long
	if !ok {
		return fmt.Errorf("%s ended at once, see %s", argv[0], log)
	}
	return writeFile(pidFile, fmt.Appendf(nil, "%d %d\n", p.pid, p.start), 0o644)
}

// readPid reads a pid file; ok is false when there is none or its process is gone.
func readPid(path string) (p process, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return p, false
	}
	if _, err := fmt.Sscan(string(text), &p.pid, &p.start); err != nil {
		return p, false
	}
	return p, p.alive()
}

// marked finds the programs of a bed by their environment, whatever the pid files say.
func marked(bed string) []process {
	var all []process
	want := []byte(marker + bed)
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for variable := range bytes.SplitSeq(text, []byte{0}) {
			if !bytes.Equal(variable, want) {
				continue
			}
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if p, ok := inspect(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// writeFile replaces a file in one step, so that a reader sees the old or the new one.
func writeFile(path string, data []byte, mode os.FileMode) error {
	temporary := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(temporary, data, mode); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// tail is the end of a log, for an error's text.
func tail(log string, lines int) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
