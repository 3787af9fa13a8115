package informer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/client"
	"github.com/informer-host/informer/plugins/sdk/go/informertest"
	"github.com/informer-host/informer/plugins/sdk/go/lister"
)

const (
	deployments = "apps/v1/deployments"
	services    = "v1/services"
)

// test stands for the *testing.T that a test has.
type test struct{}

func (test) Helper()        {}
func (test) Cleanup(func()) {}
func (test) Fatal(a ...any) { log.Fatal(a...) }

func ExampleObject_Read() {
	host := informertest.New(test{})
	web := host.Object(deployments, `{"metadata": {"name": "web"}, "spec": {"template": {"spec": {"containers": [{"image": "nginx"}]}}}}`)

	deployment := struct {
		Replicas int    `pointer:"/spec/replicas"`
		Image    string `pointer:"/spec/template/spec/containers/0/image"`
	}{Replicas: 1}
	if err := web.Read(&deployment); err != nil {
		log.Fatal(err)
	}
	fmt.Println(deployment.Replicas, "x", deployment.Image)
	// Output: 1 x nginx
}

func ExampleDecode() {
	host := informertest.New(test{})
	web := host.Object(deployments, `{"metadata": {"name": "web"}, "spec": {"replicas": 3}}`)

	// A type of k8s.io/api works as well.
	type Deployment struct{ Spec struct{ Replicas *int } }
	deployment, err := informer.Decode[Deployment](web)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*deployment.Spec.Replicas)
	// Output: 3
}

func ExampleTerminal() {
	onAdd := func(_ context.Context, object *informer.Object) error {
		port := object.Labels["port"]
		if port == "" {
			// It stays wrong until the object changes, so another attempt is of no use.
			return informer.Terminal(errors.New("the label `port` is missing"))
		}
		if _, err := lister.Get(services, object.Key()); errors.Is(err, informer.NotFound) {
			return informer.RetryAfter(fmt.Errorf("the service of %s: %w", object.Key(), err), 5*time.Second)
		}
		return nil
	}

	host := informertest.New(test{})
	fmt.Println(onAdd(context.Background(), host.Object(deployments, `{"metadata": {"name": "web"}}`)))
	fmt.Println(onAdd(context.Background(), host.Object(deployments, `{"metadata": {"name": "web", "labels": {"port": "80"}}}`)))
	// Output:
	// the label `port` is missing
	// the service of web: not-found: the cache does not hold v1/services web
}

func ExampleControllerReference() {
	host := informertest.New(test{})
	web := host.Store(deployments, `{"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": {"namespace": "default", "name": "web", "uid": "u1"}}`)

	owner, err := informer.ControllerReference(web)
	if err != nil {
		log.Fatal(err)
	}
	// The garbage collector deletes the service when the deployment is gone.
	_, err = client.Apply(services, map[string]any{
		"apiVersion": "v1",
		"kind":       "Service",
		"metadata":   map[string]any{"namespace": web.Namespace, "name": web.Name, "ownerReferences": []any{owner}},
		"spec":       map[string]any{"selector": map[string]string{"app": web.Name}},
	})
	fmt.Println(owner.Kind, owner.Name, err)
	// Output: Deployment web <nil>
}

func ExampleError() {
	host := informertest.New(test{})
	host.Fail(informer.TooManyRequests, "slow down")

	_, err := client.Get(deployments, informer.Key{Namespace: "default", Name: "web"})
	var refused *informer.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Kind, "/", refused.Message)
	}
	fmt.Println(errors.Is(err, informer.TooManyRequests))
	// Output:
	// too-many-requests / slow down
	// true
}
