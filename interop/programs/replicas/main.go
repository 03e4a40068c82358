// Command replicas is a controller of controller-runtime that creates a ReplicaSet for each Deployment, applies a ConfigMap with the number
// of its replicas, and writes that number into the status. A finalizer removes the ConfigMap.
package main

import (
	"context"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "replicas.example.com/config"

type reconciler struct {
	client.Client
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	deployment := &appsv1.Deployment{}
	if err := r.Get(ctx, request.NamespacedName, deployment); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !deployment.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, deployment)
	}
	if controllerutil.AddFinalizer(deployment, finalizer) {
		return ctrl.Result{}, r.Update(ctx, deployment)
	}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, set, func() error {
		set.Spec.Selector = deployment.Spec.Selector
		set.Spec.Template = deployment.Spec.Template
		set.Spec.Replicas = deployment.Spec.Replicas
		return controllerutil.SetControllerReference(deployment, set, r.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	replicas := fmt.Sprint(*deployment.Spec.Replicas)
	config := corev1ac.ConfigMap(request.Name, request.Namespace).WithData(map[string]string{"replicas": replicas})
	if err := r.Apply(ctx, config, client.FieldOwner("replicas"), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	before := deployment.DeepCopy()
	deployment.Status.Replicas = *deployment.Spec.Replicas
	deployment.Status.ObservedGeneration = deployment.Generation
	return ctrl.Result{}, r.Status().Patch(ctx, deployment, client.MergeFrom(before))
}

func (r *reconciler) finalize(ctx context.Context, deployment *appsv1.Deployment) error {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: deployment.Namespace, Name: deployment.Name}}
	if err := r.Delete(ctx, config); err != nil && !errors.IsNotFound(err) {
		return err
	}
	before := deployment.DeepCopy()
	controllerutil.RemoveFinalizer(deployment, finalizer)
	return r.Patch(ctx, deployment, client.MergeFrom(before))
}

func run() error {
	ctrl.SetLogger(zap.New())
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics:                 server.Options{BindAddress: "0"},
		LeaderElection:          true,
		LeaderElectionID:        "replicas.example.com",
		LeaderElectionNamespace: "default",
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&appsv1.Deployment{}).
		Owns(&appsv1.ReplicaSet{}).
		Complete(&reconciler{manager.GetClient()})
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
