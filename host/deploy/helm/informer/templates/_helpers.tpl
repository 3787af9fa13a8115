{{- define "informer.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "informer.fullname" -}}
{{- $name := .Values.fullnameOverride }}
{{- if not $name }}
{{- $name = printf "%s-%s" .Release.Name (include "informer.name" .) }}
{{- if contains (include "informer.name" .) .Release.Name }}{{ $name = .Release.Name }}{{ end }}
{{- end }}
{{- $name = $name | trunc 63 | trimSuffix "-" }}
{{- if contains "." $name }}
{{- fail (printf "no Service can have the name %q: set `fullnameOverride` to a name without a dot" $name) }}
{{- end }}
{{- $name }}
{{- end }}

{{- define "informer.selector" -}}
app.kubernetes.io/name: {{ include "informer.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "informer.labels" -}}
{{ include "informer.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* The labels of the chart in `root` and those in `more`, which replace all but the labels of the selector. */ -}}
{{- define "informer.labelsWith" -}}
{{- $labels := include "informer.labels" .root | fromYaml }}
{{- range $name, $value := .more }}{{ $_ := set $labels $name $value }}{{ end }}
{{- range $name, $value := include "informer.selector" .root | fromYaml }}{{ $_ := set $labels $name $value }}{{ end }}
{{- toYaml $labels }}
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
{{- if and .Values.readyMadeNamespaces (not .Values.readyMade) }}
{{- fail "`readyMadeNamespaces` are the namespaces of ready-made plugins, and `readyMade` names none: add the plugins, or write `namespaces` under the [[watch]] of the file in `config`" }}
{{- end }}
{{- with .Values.readyMade }}
{{- if regexMatch `(?m)^[ \t]*include[ \t]*=` $config }}
{{- fail "`config` has an `include` of its own: add the files /usr/share/informer/plugins/NAME.toml there, and their roles to `rbac.manifest`, instead of `readyMade`" }}
{{- end }}
{{- $files := list }}
{{- $directory := ternary "" "/usr/share/informer/plugins/" (not (empty $.Values.readyMadeNamespaces)) }}
{{- range . }}{{ $files = append $files (printf "%s%s.toml" $directory .) }}{{ end -}}
include = {{ toJson $files }}

{{ end }}
{{- $config | trimSuffix "\n" }}
{{- range $name, $plugin := .Values.plugins }}

{{ $plugin.toml | trimSuffix "\n" }}
{{- end }}
{{- end }}

{{- /* The file of the ready-made plugin `name`, which watches, reads and writes in `readyMadeNamespaces` only. It leaves out Namespaces,
which are objects of the whole cluster. */ -}}
{{- define "informer.confined" -}}
{{- if eq .name "replicator" }}
{{- fail "`readyMadeNamespaces` does not work with the replicator, which reads the Namespaces of the whole cluster: run it without, or in a release of its own" }}
{{- end }}
{{- $namespaces := .root.Values.readyMadeNamespaces }}
{{- $kept := list }}
{{- range regexSplit `\n\n` (.root.Files.Get (printf "files/ready-made/%s.toml" .name) | trim) -1 }}
{{- if not (regexMatch `(?m)^ *(gvr|watch) = "v1/namespaces"$` .) }}{{ $kept = append $kept . }}{{ end }}
{{- end }}
{{- $text := join "\n\n" $kept }}
{{- $text = regexReplaceAll `(?m)^gvr = .*$` $text (printf "${0}\nnamespaces = %s" (toJson $namespaces)) }}
{{- $text = regexReplaceAll `(?m)^source = .*$` $text (printf `source = "/usr/share/informer/plugins/%s.wasm"` .name) }}
{{- $grant := regexFind `(?s)\[plugin\.grant\].*` $text }}
{{- $confined := regexReplaceAll `"[^"]*v1/namespaces",\s*` $grant "" }}
{{- $confined = regexReplaceAll `"([^"]*v[0-9][a-z0-9]*/[a-z]+)"` $confined (printf `"${1} @%s"` (join "," $namespaces)) }}
{{- replace $grant $confined $text }}
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
{{- $endpoint := regexFind `(?m)^[ \t]*endpoint[ \t]*=[ \t]*["']https?://[^"'/]*:[0-9]+` (include "informer.readAtStart" .) }}
{{- regexFind `[0-9]+$` $endpoint }}
{{- end }}

{{- /* The roles that `informer rbac` printed, as {"roles": [..]}; those of a ready-made plugin have its name as `suffix`. The bindings
are made anew: for the release's ServiceAccount, or for the one in `account`. */ -}}
{{- define "informer.roles" -}}
{{- /* A file that only sets up the host needs no roles of its own. */ -}}
{{- $needs := regexMatch `(?m)^[ \t]*(\[\[[ \t]*(watch|plugin)[ \t]*\]\]|\[[ \t]*tenancy[ \t]*\]|include[ \t]*=|metrics-auth[ \t]*=[ \t]*["']kubernetes)` (default "" .Values.config) }}
{{- if and (or $needs .Values.plugins) (not .Values.rbac.manifest) }}
{{- fail "`rbac.manifest` is needed besides `config` or `plugins`: run `informer rbac --config informer.toml > rbac.yaml` and add `--set-file rbac.manifest=rbac.yaml`, or set `rbac.create` to false and bind roles yourself" }}
{{- end }}
{{- $own := .Files.Get "files/rbac.yaml" }}
{{- if or .Values.readyMade .Values.config }}{{ $own = "" }}{{ end }}
{{- $roles := list }}
{{- range $name := .Values.readyMade }}
{{- $rules := dict }}
{{- range $text := regexSplit "(?m)^---[ \t]*$" ($.Files.Get (printf "files/ready-made/%s.rbac.yaml" $name)) -1 }}
{{- $role := fromYaml $text }}
{{- $scopes := list (dig "metadata" "namespace" "" $role) }}
{{- $own := $role.rules }}
{{- if and $.Values.readyMadeNamespaces (eq (toString $role.kind) "ClusterRole") }}
{{- $scopes = $.Values.readyMadeNamespaces }}
{{- $own = list }}
{{- range $role.rules }}{{ if not (has "namespaces" .resources) }}{{ $own = append $own . }}{{ end }}{{ end }}
{{- end }}
{{- if has (toString $role.kind) (list "Role" "ClusterRole") }}
{{- range $scope := $scopes }}{{ $_ := set $rules $scope (concat (default list (get $rules $scope)) $own) }}{{ end }}
{{- end }}
{{- end }}
{{- range $namespace, $own := $rules }}
{{- $kind := ternary "Role" "ClusterRole" (not (empty $namespace)) }}
{{- $metadata := ternary (dict "namespace" $namespace) dict (not (empty $namespace)) }}
{{- $roles = append $roles (dict "kind" $kind "metadata" $metadata "suffix" (printf "-%s" $name) "rules" $own) }}
{{- end }}
{{- end }}
{{- $printed := list }}
{{- /* A separator may have a comment, and the lines may end as on Windows. */ -}}
{{- range $text := regexSplit `(?m)^---[ \t]*(?:#[^\r\n]*)?\r?$` (default $own .Values.rbac.manifest) -1 }}
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
{{- /* `rbac.manifest` may hold several outputs of `informer rbac`, with roles of one name. They become one role with the rules of all. */ -}}
{{- $distinct := list }}
{{- $byName := dict }}
{{- range $role := $roles }}
{{- $name := printf "%s %s %s" $role.kind (dig "metadata" "namespace" "" $role) (default "" $role.suffix) }}
{{- $earlier := get $byName $name }}
{{- if $earlier }}
{{- $_ := set $earlier "rules" (concat (default list $earlier.rules) (default list $role.rules)) }}
{{- else }}
{{- $_ := set $byName $name $role }}
{{- $distinct = append $distinct $role }}
{{- end }}
{{- end }}
{{- dict "roles" $distinct | toJson }}
{{- end }}
