/*
 * The files of policy/ that bootstrap applies, as texts with their placeholders. Made from the
 * files themselves by tools/embed.sh.
 */
#ifndef CTL_MANIFESTS_H
#define CTL_MANIFESTS_H

extern const char manifest_crds_hub[], manifest_crds_worker[];
extern const char manifest_admission_hub[], manifest_admission_worker[];
extern const char manifest_rbac_hub[], manifest_rbac_hub_worker[], manifest_rbac_worker[];

#endif
