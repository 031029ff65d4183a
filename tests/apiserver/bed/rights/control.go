package rights

import (
	"context"
	"fmt"
	"strings"
	"time"

	"understudy.test/bed/kube"
)

// frozenFor is how long the control looks at a verdict that must not move. The one of HubRole moves
// within milliseconds.
const frozenFor = 5 * time.Second

const controlPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: control}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: coordination.k8s.io/v1, kind: Lease}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  matchConditions:
  - {name: control, expression: "object.metadata.name == 'control'"}
  validations:
  - {expression: "has(params.spec.holderIdentity) && params.spec.holderIdentity == 'hub-a'", message: CONTROL, reason: Forbidden}
`

const controlBinding = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: control}
spec:
  policyName: control
  validationActions: [Deny]
  paramRef: {name: control, namespace: {{N}}, parameterNotFoundAction: Deny}
`

// leaseAsParameter is the control case of bindings(): with a Lease in the place of HubRole the same
// steps leave the API server with a verdict that stands still (C1). Should it move one day, the
// reason for a kind of our own is gone.
func (s *suite) leaseAsParameter(ctx context.Context) error {
	admin := s.accounts["admin"].client
	set := map[string]string{"N": plain}
	path := kube.Leases.Path(plain, "control")
	if _, err := admin.Create(ctx, kube.Leases.Path(plain, ""), object("coordination.k8s.io/v1", "Lease", "control", nil)); err != nil {
		return err
	}
	holder := func(name string) error {
		_, err := admin.Merge(ctx, path, kube.Object{"spec": map[string]any{"holderIdentity": name}})
		return err
	}
	verdict := func(want string) func() error {
		return func() error {
			_, err := admin.Create(ctx, configMaps.Path(plain, "")+"?dryRun=All", config("control"))
			if err == nil && want == accepted || err != nil && want != accepted && strings.Contains(err.Error(), want) {
				return nil
			}
			return fmt.Errorf("%v, want %s", err, want)
		}
	}
	bind := func() error {
		_, err := admin.ApplyAll(ctx, controlBinding, "default", set)
		return err
	}
	wait := func(want string) func() error {
		return func() error { return s.await(ctx, "the verdict on a Lease", verdict(want)) }
	}
	for _, step := range []func() error{
		func() error { _, err := admin.ApplyAll(ctx, controlPolicy, "default", nil); return err },
		bind,
		func() error { return holder("nobody") }, wait("CONTROL"),
		func() error { return holder("hub-a") }, wait(accepted),
		func() error { return holder("nobody") }, wait("CONTROL"),
	} {
		if err := step(); err != nil {
			s.report("control: a Lease as parameter is followed at first", err.Error())
			return nil
		}
	}
	s.report("control: a Lease as parameter is followed at first", "")
	// A busy server may not have forgotten the parameter by the time that it is bound anew.
	wrong := "it follows: the reason why the policies take HubRole is gone (C1)"
	for span := forgotten; wrong != "" && span <= 8*forgotten; span *= 2 {
		for _, step := range []func() error{
			func() error { return holder("nobody") },
			func() error { return admin.Delete(ctx, policyBindings.Path("", "control")) }, wait(accepted),
			func() error { kube.Pause(ctx, span); return nil },
			bind, wait("CONTROL"),
			func() error { return holder("hub-a") },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		if err := s.awaitFor(ctx, frozenFor, "the verdict on a Lease", verdict(accepted)); err != nil {
			wrong = ""
		}
	}
	s.report("control: bound anew, its verdict stands still although the Lease changed", wrong)
	for _, remove := range []string{policyBindings.Path("", "control"), policies.Path("", "control"), path} {
		if err := admin.Delete(ctx, remove); err != nil {
			return err
		}
	}
	return nil
}
