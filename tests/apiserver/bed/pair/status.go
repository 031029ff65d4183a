package pair

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"understudy.test/bed/kube"
)

// Status is what understudyctl prints as JSON.
func (h *Hub) Status(ctx context.Context) (kube.Object, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(h.pair.Root, "build/understudyctl"),
		"--socket", h.StatusSocket(), "status", "-o", "json").Output()
	if err != nil {
		return nil, err
	}
	var o kube.Object
	return o, json.Unmarshal(out, &o)
}

// AdminSocket is where operators' commands go.
func (h *Hub) AdminSocket() string { return filepath.Join(h.RunDirectory(), "admin.sock") }

// Armed says whether the hub could be promoted now: armed and its mirror complete, by its own word.
func (h *Hub) Armed(ctx context.Context) bool {
	o, err := h.Status(ctx)
	if err != nil {
		return false
	}
	armed, _ := o.Get("leadership", "armed").(bool)
	complete, _ := o.Get("leadership", "complete").(bool)
	return armed && complete
}

// Ctl runs understudyctl against the hub, as root or as another user, and returns what it printed
// and its exit code.
func (h *Hub) Ctl(ctx context.Context, uid int, words ...string) (string, int, error) {
	program := filepath.Join(h.pair.Root, "build/understudyctl")
	if uid != 0 { // who may not enter the folder that the repository lies in
		text, err := os.ReadFile(program)
		if err != nil {
			return "", 0, err
		}
		program = filepath.Join(h.pair.bed.Data, "understudyctl")
		if err := os.WriteFile(program, text, 0o755); err != nil {
			return "", 0, err
		}
	}
	argv := append([]string{program, "--socket", h.StatusSocket()}, words...)
	inside := append([]string{"/usr/bin/understudyctl"}, words...)
	switch {
	case h.Container != nil: // root out here is nobody whom a container's root knows
		argv = h.crun(append([]string{"exec", h.id()}, inside...)...)
	case h.System != nil:
		argv = h.systemExec(inside...)
	}
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if uid != 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	return ended(command)
}

// ended runs a command to its end, whatever its exit code is, and returns what it printed and that.
func ended(command *exec.Cmd) (string, int, error) {
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", 0, err
	}
	return string(out), command.ProcessState.ExitCode(), nil
}
