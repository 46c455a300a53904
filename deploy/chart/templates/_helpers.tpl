{{- define "junctor.selector" -}}
app.kubernetes.io/name: junctor
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "junctor.labels" -}}
{{ include "junctor.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "junctor.name" -}}
{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "junctor.host" -}}
{{ regexReplaceAll "^https?://" .Values.publicURL "" }}
{{- end }}
