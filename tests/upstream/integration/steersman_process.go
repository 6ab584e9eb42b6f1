// SPDX-License-Identifier: Apache-2.0

// Package util is upstream's test/integration/util, where this file takes the place of the functions that start a scheduler.
//
// The in-process scheduler is still created, because tests wait until its cache and queue have seen their objects. With
// STEERSMAN_COMMAND it runs no scheduling cycle: `steersman run` has started in its place, with the same configuration, feature
// gates and version. Without STEERSMAN_COMMAND everything is as upstream.
package util

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/component-base/featuregate"
	kubeschedulerconfigv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	kubeschedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	configtesting "k8s.io/kubernetes/pkg/scheduler/apis/config/testing"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

const (
	startTimeout = 3 * time.Minute
	stopTimeout  = 10 * time.Second
	// readyMessage is in the log of a process that has synced its caches.
	readyMessage = "scheduling begins"
)

// Numbers the folders of the processes of a test binary.
var processes atomic.Int64

// InitTestSchedulerWithOptions creates upstream's scheduler and replaces its scheduling cycles by a process.
func InitTestSchedulerWithOptions(t *testing.T, testCtx *TestContext, resyncPeriod time.Duration, opts ...scheduler.Option) *TestContext {
	testCtx = initInProcessScheduler(t, testCtx, resyncPeriod, opts...)
	command := strings.Fields(os.Getenv("STEERSMAN_COMMAND"))
	if len(command) == 0 {
		return testCtx
	}
	given := readOptions(opts)
	if reason := given.needsGoProcess(); reason != "" {
		t.Skipf("STEERSMAN_NEEDS %s", reason)
	}
	if version := emulatedVersion(); !slices.Contains(strings.Split(os.Getenv("STEERSMAN_VERSIONS"), ","), version) {
		t.Skipf("STEERSMAN_NEEDS emulation of v%s", version)
	}
	process := newProcess(t, testCtx, command, given)
	process.start()
	closeInProcess := testCtx.SchedulerCloseFn
	testCtx.SchedulerCloseFn = func() {
		process.stop()
		closeInProcess()
	}
	t.Cleanup(process.stop)
	go func() {
		<-testCtx.SchedulerCtx.Done()
		process.stop()
	}()
	replaceCycles(testCtx)
	// The pods of the test have to enter the queue in the order in which it creates them.
	process.waitUntilReady()
	return testCtx
}

// replaceCycles makes the cycles of the in-process scheduler wait for the end of the test.
// The field is NextPod in v1.36 and NextEntity, with another result, since v1.37.
func replaceCycles(testCtx *TestContext) {
	sched := reflect.ValueOf(testCtx.Scheduler).Elem()
	next := sched.FieldByName("NextEntity")
	if !next.IsValid() {
		next = sched.FieldByName("NextPod")
	}
	next.Set(reflect.MakeFunc(next.Type(), func([]reflect.Value) []reflect.Value {
		<-testCtx.SchedulerCtx.Done()
		<-testCtx.Ctx.Done()
		return []reflect.Value{reflect.Zero(next.Type().Out(0)), reflect.Zero(next.Type().Out(1))}
	}))
}

// givenOptions are the fields of scheduler.schedulerOptions that an Option of a test may set.
type givenOptions struct {
	value reflect.Value
}

func readOptions(opts []scheduler.Option) givenOptions {
	value := reflect.New(reflect.TypeFor[scheduler.Option]().In(0).Elem())
	for _, opt := range opts {
		reflect.ValueOf(opt).Call([]reflect.Value{value})
	}
	return givenOptions{value.Elem()}
}

func field[T any](o givenOptions, name string) T {
	found := o.value.FieldByName(name)
	return *(*T)(unsafe.Pointer(found.UnsafeAddr()))
}

// needsGoProcess names what a test gives to the scheduler and no other process can have; empty if there is nothing.
func (o givenOptions) needsGoProcess() string {
	if registry := field[frameworkruntime.Registry](o, "frameworkOutOfTreeRegistry"); len(registry) > 0 {
		names := make([]string, 0, len(registry))
		for name := range registry {
			names = append(names, name)
		}
		slices.Sort(names)
		return "Go plugins: " + strings.Join(names, ", ")
	}
	for _, name := range []string{"clock", "frameworkCapturer"} {
		if !o.value.FieldByName(name).IsNil() {
			return "a " + name + " of its own in the scheduler"
		}
	}
	return ""
}

func (o givenOptions) configuration(t *testing.T, kubeconfig string) []byte {
	config := configtesting.V1ToInternalWithDefaults(t, kubeschedulerconfigv1.KubeSchedulerConfiguration{})
	if profiles := field[[]kubeschedulerconfig.KubeSchedulerProfile](o, "profiles"); len(profiles) > 0 {
		config.Profiles = profiles
	}
	if percentage := field[int32](o, "percentageOfNodesToScore"); percentage > 0 {
		config.PercentageOfNodesToScore = &percentage
	}
	if seconds := field[int64](o, "podInitialBackoffSeconds"); seconds > 0 {
		config.PodInitialBackoffSeconds = seconds
		config.PodMaxBackoffSeconds = max(seconds, config.PodMaxBackoffSeconds)
	}
	if seconds := field[int64](o, "podMaxBackoffSeconds"); seconds > 0 {
		config.PodMaxBackoffSeconds = seconds
	}
	config.Extenders = field[[]kubeschedulerconfig.Extender](o, "extenders")
	config.LeaderElection.LeaderElect = false
	config.ClientConnection.Kubeconfig = kubeconfig
	config.ClientConnection.QPS = 5000
	config.ClientConnection.Burst = 5000
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeYAML)
	written, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, kubeschedulerconfigv1.SchemeGroupVersion), config)
	if err != nil {
		t.Fatalf("writing the configuration: %v", err)
	}
	return written
}

// process is one `steersman run` with a folder for its kubeconfig, configuration and log.
type process struct {
	t       *testing.T
	command *exec.Cmd
	log     *os.File
	ended   chan struct{}
	lock    sync.Mutex
	stopped bool
}

func newProcess(t *testing.T, testCtx *TestContext, command []string, given givenOptions) *process {
	folder := filepath.Join(os.Getenv("STEERSMAN_FOLDER"), fmt.Sprintf("%03d-%s", processes.Add(1), strings.ReplaceAll(t.Name(), "/", "_")))
	if len(folder) > 200 {
		folder = folder[:200]
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := clientcmd.WriteToFile(kubeconfigOf(testCtx.KubeConfig), kubeconfig); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(config, given.configuration(t, kubeconfig), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(folder, "steersman.log"))
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"--config=" + config, "--secure-port=0", "--emulated-version=" + emulatedVersion()}
	if gates := changedGates(); gates != "" {
		flags = append(flags, "--feature-gates="+gates)
	}
	started := exec.Command(command[0], append(command[1:], flags...)...)
	started.Stdout, started.Stderr = log, log
	started.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &process{t: t, command: started, log: log, ended: make(chan struct{})}
}

func (p *process) start() {
	if err := p.command.Start(); err != nil {
		p.t.Fatalf("starting Steersman: %v", err)
	}
	go func() {
		err := p.command.Wait()
		p.lock.Lock()
		stopped := p.stopped
		p.lock.Unlock()
		if !stopped {
			p.t.Errorf("Steersman ended (%v): see %s", err, p.log.Name())
		}
		close(p.ended)
	}()
}

func (p *process) waitUntilReady() {
	for began := time.Now(); time.Since(began) < startTimeout; {
		select {
		case <-p.ended:
			p.t.Fatalf("Steersman ended: see %s", p.log.Name())
		case <-time.After(50 * time.Millisecond):
		}
		if log, err := os.ReadFile(p.log.Name()); err == nil && strings.Contains(string(log), readyMessage) {
			return
		}
	}
	p.t.Fatalf("Steersman did not begin to schedule: see %s", p.log.Name())
}

// stop kills the process, once, and waits for its end.
func (p *process) stop() {
	p.lock.Lock()
	first := !p.stopped
	p.stopped = true
	p.lock.Unlock()
	if first {
		_ = p.command.Process.Kill()
	}
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
	}
}

func kubeconfigOf(config *restclient.Config) clientcmdapi.Config {
	name := "integration"
	return clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server:                   config.Host,
			CertificateAuthority:     config.CAFile,
			CertificateAuthorityData: config.CAData,
			InsecureSkipTLSVerify:    config.Insecure,
			TLSServerName:            config.ServerName,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			Token:                 config.BearerToken,
			ClientCertificateData: config.CertData,
			ClientKeyData:         config.KeyData,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
}

// emulatedVersion is the version of the feature gates, which a test may have changed.
func emulatedVersion() string {
	version := utilfeature.DefaultMutableFeatureGate.EmulationVersion()
	return fmt.Sprintf("%d.%d", version.Major(), version.Minor())
}

// changedGates lists the feature gates that a test has changed, as a flag takes them.
func changedGates() string {
	gates := utilfeature.DefaultFeatureGate
	original := utilfeature.DefaultMutableFeatureGate.DeepCopyAndReset()
	var changed []string
	for name := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		if name == "AllAlpha" || name == "AllBeta" {
			continue
		}
		if now := gates.Enabled(featuregate.Feature(name)); now != original.Enabled(name) {
			changed = append(changed, fmt.Sprintf("%s=%t", name, now))
		}
	}
	slices.Sort(changed)
	return strings.Join(changed, ",")
}
