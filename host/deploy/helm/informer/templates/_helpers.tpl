{{- define "informer.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "informer.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "informer.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "informer.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "informer.selector" -}}
app.kubernetes.io/name: {{ include "informer.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "informer.labels" -}}
{{ include "informer.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "informer.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "informer.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "informer.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- /* The whole informer.toml. It must serve the probes. */ -}}
{{- define "informer.config" -}}
{{- $own := ternary "files/ready-made/informer.toml" "files/informer.toml" (not (empty .Values.readyMade)) }}
{{- $config := default (.Files.Get $own) .Values.config }}
{{- if and (gt (int .Values.replicas) 1) (not .Values.config) }}
{{- $lease := printf "lease = \"%s/%s\"" .Release.Namespace (include "informer.fullname" .) }}
{{- $config = replace "[host]\n" (printf "[host]\n# The pod that holds this Lease calls the plugins. The others stand by.\n%s\n" $lease) $config }}
{{- end }}
{{- $port := int .Values.health.port }}
{{- if not (regexMatch (printf `(?m)^[ \t]*health[ \t]*=[ \t]*["'][^"']*:%d["']` $port) $config) }}
{{- fail (printf "the probes need the health listener: write `health = \"0.0.0.0:%d\"` under [host] of the file in `config`, or set `health.port` to the port in it" $port) }}
{{- end }}
{{- if regexMatch (printf `(?m)^[ \t]*health[ \t]*=[ \t]*["'](127\.|localhost|\[::1\])[^"']*:%d["']` $port) $config }}
{{- fail (printf "the kubelet cannot reach the health listener: write `health = \"0.0.0.0:%d\"` instead of a loopback address" $port) }}
{{- end }}
{{- with .Values.readyMade }}
{{- if regexMatch `(?m)^[ \t]*include[ \t]*=` $config }}
{{- fail "`config` has an `include` of its own: add the files /usr/share/informer/plugins/NAME.toml there, and their roles to `rbac.manifest`, instead of `readyMade`" }}
{{- end }}
{{- $files := list }}
{{- range . }}{{ $files = append $files (printf "/usr/share/informer/plugins/%s.toml" .) }}{{ end -}}
include = {{ toJson $files }}

{{ end }}
{{- $config | trimSuffix "\n" }}
{{- range $name, $plugin := .Values.plugins }}

{{ $plugin.toml | trimSuffix "\n" }}
{{- end }}
{{- end }}

{{- /* The sections whose keys the host reads at the start, without comments and empty lines. */ -}}
{{- define "informer.readAtStart" -}}
{{- $config := regexReplaceAll `(?m)^[ \t]*(?:#[^\n]*)?\n` (printf "%s\n" (include "informer.config" .)) "" }}
{{- regexFindAll `(?m)^[ \t]*\[[ \t]*(?:host|cluster|telemetry)[ \t]*\][^\n]*(?:\n[ \t]*[^\[ \t\n][^\n]*)*` $config -1 | join "\n" }}
{{- end }}

{{- /* The NAMESPACE/NAME in `lease` of [host]. Empty without it. */ -}}
{{- define "informer.lease" -}}
{{- $line := regexFind `(?m)^[ \t]*lease[ \t]*=[ \t]*["'][^"'/\n]+/[^"'/\n]+["']` (include "informer.readAtStart" .) }}
{{- regexReplaceAll `^[^"']*["']|["']$` $line "" }}
{{- end }}

{{- /* "true" if there are several pods. They need a lease, and each of them a state of its own. */ -}}
{{- define "informer.several" -}}
{{- $replicas := int .Values.replicas }}
{{- if gt $replicas 1 }}
{{- if not (include "informer.lease" .) }}
{{- fail (printf "`replicas` is %d, and `config` names no Lease, so each pod would call every handler: write `lease = \"%s/%s\"` under [host] of the file in `config`, or set `replicas` to 1" $replicas .Release.Namespace (include "informer.fullname" .)) }}
{{- end }}
{{- if or .Values.state.persistent .Values.state.existingClaim }}
{{- fail (printf "`replicas` is %d, and `state.persistent` or `state.existingClaim` gives all pods one volume, but only one host at a time can open the state: unset both, so that each pod has a state of its own, or set `replicas` to 1" $replicas) }}
{{- end }}
{{- true }}
{{- end }}
{{- end }}

{{- /* The port in `endpoint` of [telemetry]. Empty without the section or without a port. */ -}}
{{- define "informer.collectorPort" -}}
{{- $config := regexReplaceAll `(?m)^[ \t]*#.*$` (include "informer.config" .) "" }}
{{- $endpoint := regexFind `(?m)^[ \t]*\[telemetry\][^\[]*?^[ \t]*endpoint[ \t]*=[ \t]*["']https?://[^"'/]*:[0-9]+` $config }}
{{- regexFind `[0-9]+$` $endpoint }}
{{- end }}

{{- /* The roles that `informer rbac` printed, as {"roles": [..]}; those of a ready-made plugin have its name as `suffix`. The bindings
are made anew: for the release's ServiceAccount, or for the one in `account`. */ -}}
{{- define "informer.roles" -}}
{{- /* A file that only sets up the host needs no roles of its own. */ -}}
{{- $needs := regexMatch `(?m)^[ \t]*(\[\[[ \t]*(watch|plugin)[ \t]*\]\]|\[[ \t]*tenancy[ \t]*\]|include[ \t]*=|metrics-auth[ \t]*=[ \t]*["']kubernetes)` .Values.config }}
{{- if and (or $needs .Values.plugins) (not .Values.rbac.manifest) }}
{{- fail "`rbac.manifest` is needed besides `config` or `plugins`: run `informer rbac --config informer.toml > rbac.yaml` and add `--set-file rbac.manifest=rbac.yaml`, or set `rbac.create` to false and bind roles yourself" }}
{{- end }}
{{- $own := .Files.Get "files/rbac.yaml" }}
{{- if or .Values.readyMade .Values.config }}{{ $own = "" }}{{ end }}
{{- $roles := list }}
{{- range $name := .Values.readyMade }}
{{- range $text := regexSplit "(?m)^---[ \t]*$" ($.Files.Get (printf "files/ready-made/%s.rbac.yaml" $name)) -1 }}
{{- $role := fromYaml $text }}
{{- if has (toString $role.kind) (list "Role" "ClusterRole") }}{{ $roles = append $roles (set $role "suffix" (printf "-%s" $name)) }}{{ end }}
{{- end }}
{{- end }}
{{- $printed := list }}
{{- range $text := regexSplit "(?m)^---[ \t]*$" (default $own .Values.rbac.manifest) -1 }}
{{- $document := fromYaml $text }}
{{- $objects := list $document }}
{{- if eq (toString $document.kind) "List" }}{{ $objects = $document.items }}{{ end }}
{{- $printed = concat $printed $objects }}
{{- end }}
{{- /* A plugin that sends its requests `as` a ServiceAccount has roles "informer:NAMESPACE:NAME", which are bound to that account. */ -}}
{{- $accounts := dict }}
{{- range $object := $printed }}
{{- if has $object.kind (list "RoleBinding" "ClusterRoleBinding") }}
{{- range $subject := $object.subjects }}
{{- $suffix := printf ":%s:%s" $subject.namespace $subject.name }}
{{- if hasSuffix $suffix $object.roleRef.name }}
{{- $_ := set $accounts $object.roleRef.name (dict "suffix" $suffix "account" (pick $subject "namespace" "name")) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- range $object := $printed }}
{{- if has $object.kind (list "Role" "ClusterRole") }}
{{- $roles = append $roles (merge (deepCopy (get $accounts $object.metadata.name | default dict)) $object) }}
{{- else if and $object (not (has $object.kind (list "RoleBinding" "ClusterRoleBinding"))) }}
{{- fail (printf "`rbac.manifest` holds what `informer rbac` prints: roles and their bindings, not %s" (toJson $object | trunc 200)) }}
{{- end }}
{{- end }}
{{- with include "informer.lease" . }}
{{- $namespace := splitList "/" . | first }}
{{- $name := splitList "/" . | last }}
{{- /* `informer rbac` prints this role for a `config` with a lease. */ -}}
{{- $isPrinted := false }}
{{- range $role := $roles }}
{{- range $rule := $role.rules }}
{{- if and (eq (dig "metadata" "namespace" "" $role) $namespace) (has "leases" $rule.resources) (has $name $rule.resourceNames) }}{{ $isPrinted = true }}{{ end }}
{{- end }}
{{- end }}
{{- if not $isPrinted }}
{{- $leases := dict "apiGroups" (list "coordination.k8s.io") "resources" (list "leases") }}
{{- $create := merge (dict "verbs" (list "create")) $leases }}
{{- $own := merge (dict "resourceNames" (list $name) "verbs" (list "get" "update")) $leases }}
{{- $roles = append $roles (dict "kind" "Role" "metadata" (dict "namespace" $namespace) "suffix" "-lease" "rules" (list $create $own)) }}
{{- end }}
{{- end }}
{{- dict "roles" $roles | toJson }}
{{- end }}
