{{/* The name of everything: RELEASE-perennial, or the release alone if it says so already. */}}
{{- define "perennial.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "perennial.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "perennial.labels" -}}
{{ include "perennial.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "perennial.nodes" -}}
{{- ternary (int .Values.cluster.nodes) 1 .Values.cluster.enabled -}}
{{- end -}}

{{/* Texts, because a define has no other value: "yes" or nothing. */}}
{{- define "perennial.isExposed" -}}
{{- if or .Values.http.exposed .Values.cluster.enabled -}}yes{{- end -}}
{{- end -}}

{{- define "perennial.isPlain" -}}
{{- if or (not .Values.tls.secret) .Values.tls.plain -}}yes{{- end -}}
{{- end -}}

{{/* A standby of a cluster passes on clients that speak as they do at its client_address, so there all speak alike. */}}
{{- define "perennial.hasTls" -}}
{{- if and .Values.tls.secret (not (and .Values.cluster.enabled .Values.tls.plain)) -}}yes{{- end -}}
{{- end -}}

{{/* Where the probes ask: an address that only the pod itself reaches. */}}
{{- define "perennial.localHttp" -}}
127.0.0.1:{{ ternary "11381" "11380" (eq (include "perennial.isExposed" .) "yes") }}
{{- end -}}

{{- define "perennial.queuePort" -}}
{{- ternary "11400" "11300" (eq (include "perennial.hasTls" .) "yes") -}}
{{- end -}}

{{/* What would start, and then not work. */}}
{{- define "perennial.check" -}}
{{- if and (include "perennial.isExposed" .) (not .Values.users.secret) -}}
{{- fail "users.secret: whoever reaches an exposed HTTP, as in a cluster, must show who it is" -}}
{{- end -}}
{{- if and .Values.http.exposed (not .Values.tls.secret) (not .Values.settings.auth_plaintext) -}}
{{- fail "http.exposed: tokens would be readable on the way: set tls.secret, or settings.auth_plaintext if the network is yours alone" -}}
{{- end -}}
{{- if and .Values.cluster.enabled (not .Values.cluster.etcd) (not .Values.cluster.settings.etcd_discovery) -}}
{{- fail "cluster.etcd: a cluster needs the endpoints of its etcd" -}}
{{- end -}}
{{- if and .Values.cluster.enabled (not (and .Values.tls.secret .Values.cluster.peerCaSecret)) -}}
{{- fail "tls.secret and cluster.peerCaSecret: nodes show each other a token, which must not travel where others read it" -}}
{{- end -}}
{{- if and .Values.users.plainUser (not .Values.users.secret) -}}
{{- fail "users.plainUser: it is one of the users of users.secret" -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (not (include "perennial.isExposed" .)) -}}
{{- fail "serviceMonitor: Prometheus reaches only an exposed HTTP: set http.exposed" -}}
{{- end -}}
{{- if and .Values.cluster.enabled (not .Values.persistence.enabled) -}}
{{- fail "persistence: a node of a cluster needs a disk of its own" -}}
{{- end -}}
{{- end -}}

{{/* The settings of one pod: (dict "root" $ "pod" NAME). What values say in `settings` wins. */}}
{{- define "perennial.settings" -}}
{{- $values := .root.Values -}}
{{- $tls := dict "certificate" "/etc/perennial/tls/tls.crt" "key" "/etc/perennial/tls/tls.key" -}}
{{- $settings := dict "data_group_access" "write" "log_format" "json" "http_listen" (include "perennial.localHttp" .root) -}}
{{- $listeners := list -}}
{{- if include "perennial.isPlain" .root -}}
{{- if $values.users.plainUser -}}
{{- $listeners = append $listeners (dict "address" ":11300" "user" $values.users.plainUser) -}}
{{- else -}}
{{- $settings = set $settings "listen" (list ":11300") -}}
{{- end -}}
{{- end -}}
{{- if include "perennial.hasTls" .root -}}
{{- $listeners = append $listeners (dict "address" ":11400" "tls" $tls) -}}
{{- end -}}
{{- if include "perennial.isExposed" .root -}}
{{- $http := dict "address" ":11380" "protocol" "http" -}}
{{- if $values.tls.secret -}}{{- $http = set $http "tls" $tls -}}{{- end -}}
{{- $listeners = append $listeners $http -}}
{{- end -}}
{{- if $listeners -}}
{{- $settings = set $settings "listeners" $listeners -}}
{{- end -}}
{{- if $values.users.secret -}}
{{- $settings = set $settings "users_file" "/etc/perennial/users/users.yaml" -}}
{{- end -}}
{{- if $values.cluster.enabled -}}
{{- $host := printf "%s.%s-pods.%s.svc" .pod (include "perennial.fullname" .root) .root.Release.Namespace -}}
{{- $cluster := dict "name" (default .root.Release.Name $values.cluster.name) "node" .pod -}}
{{- if $values.cluster.etcd -}}{{- $cluster = set $cluster "etcd" $values.cluster.etcd -}}{{- end -}}
{{- $cluster = set $cluster "client_address" (printf "%s:%s" $host (include "perennial.queuePort" .root)) -}}
{{- $cluster = set $cluster "peer_address" (printf "%s:11380" $host) -}}
{{- $cluster = set $cluster "peer_token_file" "/etc/perennial/users/peer-token" -}}
{{- $cluster = set $cluster "peer_ca" "/etc/perennial/peer-ca/ca.crt" -}}
{{- if $values.cluster.etcdTlsSecret -}}
{{- $etcd := "/etc/perennial/etcd-tls" -}}
{{- $files := dict "ca" (print $etcd "/ca.crt") "certificate" (print $etcd "/tls.crt") "key" (print $etcd "/tls.key") -}}
{{- $cluster = set $cluster "etcd_tls" $files -}}
{{- end -}}
{{- $settings = set $settings "cluster" (mergeOverwrite $cluster (deepCopy $values.cluster.settings)) -}}
{{- end -}}
{{- mergeOverwrite $settings (deepCopy $values.settings) | toYaml -}}
{{- end -}}
