// Command schema writes the table with which the development server reads protobuf bodies and checks
// JSON bodies. For each message that can occur in a request, the table has the fields with their
// numbers, JSON names and types.
//
//	go run . > ../../src/schema/table.txt
//
// One line is one message: its name, then `number:name:type` for each field. A type is
//
//	s string   i integer   b boolean   f float   y bytes (base64 in JSON)
//	T Time   U MicroTime   D Duration   Q Quantity   I IntOrString   R raw JSON   F raw JSON of FieldsV1
//	<name> another message
//
// with a prefix `[]` for lists and `{}` for maps with string keys, and a suffix: `?` if the JSON leaves
// out a zero value, `*` if absence and zero differ. An empty JSON name means that the message is
// inlined in its parent.
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authnv1 "k8s.io/api/authentication/v1"
	authv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var roots = []struct {
	apiVersion string
	objects    []any
}{
	{"v1", []any{
		corev1.ConfigMap{}, corev1.Endpoints{}, corev1.Event{}, corev1.LimitRange{}, corev1.Namespace{},
		corev1.Node{}, corev1.PersistentVolume{}, corev1.PersistentVolumeClaim{}, corev1.Pod{},
		corev1.ReplicationController{}, corev1.ResourceQuota{}, corev1.Secret{}, corev1.Service{},
		corev1.ServiceAccount{}, metav1.DeleteOptions{},
	}},
	{"apps/v1", []any{
		appsv1.ControllerRevision{}, appsv1.DaemonSet{}, appsv1.Deployment{}, appsv1.ReplicaSet{}, appsv1.StatefulSet{},
	}},
	{"authentication.k8s.io/v1", []any{authnv1.SelfSubjectReview{}}},
	{"authorization.k8s.io/v1", []any{authv1.SelfSubjectAccessReview{}}},
	{"autoscaling/v1", []any{autoscalingv1.Scale{}}},
	{"autoscaling/v2", []any{autoscalingv2.HorizontalPodAutoscaler{}}},
	{"batch/v1", []any{batchv1.CronJob{}, batchv1.Job{}}},
	{"coordination.k8s.io/v1", []any{coordinationv1.Lease{}}},
	{"discovery.k8s.io/v1", []any{discoveryv1.EndpointSlice{}}},
	{"events.k8s.io/v1", []any{eventsv1.Event{}}},
	{"networking.k8s.io/v1", []any{networkingv1.Ingress{}, networkingv1.IngressClass{}, networkingv1.NetworkPolicy{}}},
	{"policy/v1", []any{policyv1.PodDisruptionBudget{}}},
	{"rbac.authorization.k8s.io/v1", []any{
		rbacv1.ClusterRole{}, rbacv1.ClusterRoleBinding{}, rbacv1.Role{}, rbacv1.RoleBinding{},
	}},
	{"storage.k8s.io/v1", []any{storagev1.StorageClass{}}},
}

var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():          "T",
	reflect.TypeFor[metav1.MicroTime]():     "U",
	reflect.TypeFor[metav1.Duration]():      "D",
	reflect.TypeFor[resource.Quantity]():    "Q",
	reflect.TypeFor[intstr.IntOrString]():   "I",
	reflect.TypeFor[runtime.RawExtension](): "R",
	reflect.TypeFor[metav1.FieldsV1]():      "F",
}

type schema struct{ messages map[string]string }

func (s *schema) message(t reflect.Type) string {
	pkg := strings.TrimPrefix(strings.TrimPrefix(t.PkgPath(), "k8s.io/api/"), "k8s.io/apimachinery/pkg/apis/")
	name := strings.ReplaceAll(pkg, "/", ".") + "." + t.Name()
	if _, done := s.messages[name]; done {
		return name
	}
	s.messages[name] = ""
	var fields []string
	for i := range t.NumField() {
		field := t.Field(i)
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 2 {
			continue // TypeMeta is in the envelope
		}
		json := strings.Split(field.Tag.Get("json"), ",")
		fields = append(fields, tag[1]+":"+json[0]+":"+s.typ(field.Type, strings.Join(json[1:], ",")))
	}
	s.messages[name] = strings.Join(fields, " ")
	return name
}

func (s *schema) typ(t reflect.Type, options string) string {
	suffix := ""
	if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
		suffix = "?"
	}
	if t.Kind() == reflect.Pointer {
		t, suffix = t.Elem(), "*"
	}
	if name, ok := special[t]; ok {
		return name + suffix
	}
	switch t.Kind() {
	case reflect.String:
		return "s" + suffix
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return "i" + suffix
	case reflect.Bool:
		return "b" + suffix
	case reflect.Float32, reflect.Float64:
		return "f" + suffix
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "y" + suffix
		}
		return "[]" + s.typ(t.Elem(), "")
	case reflect.Map:
		if t.Elem().Kind() == reflect.Slice && t.Elem().Elem().Kind() == reflect.String {
			return "{}R" // only in answers, so its form in protobuf does not matter
		}
		return "{}" + s.typ(t.Elem(), "")
	case reflect.Struct:
		return s.message(t) + suffix
	}
	panic(fmt.Sprintf("no rule for %v", t))
}

func main() {
	s := &schema{messages: map[string]string{}}
	fmt.Println("# Made by host/devserver/tools/schema from k8s.io/api; do not edit.")
	for _, group := range roots {
		for _, object := range group.objects {
			t := reflect.TypeOf(object)
			fmt.Printf("= %s %s %s\n", group.apiVersion, t.Name(), s.message(t))
		}
	}
	names := make([]string, 0, len(s.messages))
	for name := range s.messages {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Println(strings.TrimSpace(name + " " + s.messages[name]))
	}
}
