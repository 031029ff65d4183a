package rights

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"understudy.test/bed/kube"
)

// manifests sees that a real API server takes packaging/kubernetes, as dry runs, with exactly the
// security context that the container tests run with (F26), and that Pod Security lets such a pod in
// and refuses one that may do more.
func (s *suite) manifests(ctx context.Context) error {
	hub := s.pair.Hubs[0]
	kubectl := func(input []byte, words ...string) ([]byte, error) {
		command := exec.CommandContext(ctx, filepath.Join(s.Root, "build/kubectl"), append([]string{"--kubeconfig", hub.Cluster.Kubeconfig()}, words...)...)
		command.Stdin = bytes.NewReader(input)
		var complaint bytes.Buffer
		command.Stderr = &complaint
		out, err := command.Output()
		if err != nil {
			err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(words, " "), err, complaint.String())
		}
		return out, err
	}
	made, err := kubectl(nil, "kustomize", filepath.Join(s.Root, "packaging/kubernetes"))
	if err != nil {
		return err
	}
	// A dry run needs the namespace that it is in.
	if _, err := kubectl(nil, "apply", "--server-side", "-f", filepath.Join(s.Root, "packaging/kubernetes/namespace.yaml")); err != nil {
		return err
	}
	answer, err := kubectl(made, "apply", "--server-side", "--dry-run=server", "-o", "json", "-f", "-")
	wrong := ""
	if err != nil {
		wrong = err.Error()
	}
	s.report("kubernetes: a server-side dry run of packaging/kubernetes is accepted", wrong)
	if err != nil {
		return nil
	}
	var list kube.Object
	if err := json.Unmarshal(answer, &list); err != nil {
		return err
	}
	var pod kube.Object
	for _, o := range list.Items() {
		if template, ok := o.Get("spec", "template").(map[string]any); ok {
			pod = template
		}
	}
	if pod == nil {
		return fmt.Errorf("no object of packaging/kubernetes has a pod template")
	}
	containers := pod.List("spec", "containers")
	context := containers[0].(map[string]any)["securityContext"]
	want := map[string]any{
		"runAsUser": 0.0, "runAsGroup": 0.0, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
		"capabilities": map[string]any{"drop": []any{"ALL"}, "add": []any{"SETUID", "SETGID", "SETPCAP", "KILL"}},
	}
	profile := pod.Text("spec", "securityContext", "seccompProfile", "type")
	wrong = ""
	if !reflect.DeepEqual(context, want) || profile != "RuntimeDefault" || pod.Get("spec", "hostUsers") != false || len(containers) != 1 {
		wrong = fmt.Sprintf("%v, seccomp %s, hostUsers %v", context, profile, pod.Get("spec", "hostUsers"))
	}
	s.report("kubernetes: the pod has exactly the security context of the container tests", wrong)
	for _, more := range []string{"", "SYS_ADMIN"} {
		pod["apiVersion"], pod["kind"] = "v1", "Pod"
		pod["metadata"] = map[string]any{"name": "understudy-0", "namespace": "understudy-system"}
		name := "kubernetes: Pod Security lets the pod in"
		if more != "" {
			capabilities := want["capabilities"].(map[string]any)
			capabilities["add"] = append(slices.Clone(capabilities["add"].([]any)), more)
			containers[0].(map[string]any)["securityContext"] = want
			name = "kubernetes: Pod Security refuses it with " + more
		}
		text, err := json.Marshal(pod)
		if err != nil {
			return err
		}
		_, err = kubectl(text, "create", "--dry-run=server", "-f", "-")
		wrong = ""
		if more == "" && err != nil {
			wrong = err.Error()
		} else if more != "" && (err == nil || !strings.Contains(err.Error(), `violates PodSecurity "baseline`)) {
			wrong = fmt.Sprint(err)
		}
		s.report(name, wrong)
	}
	return nil
}
