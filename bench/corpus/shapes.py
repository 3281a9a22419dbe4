"""The shape of a shell command: what is left of it when every operand is a placeholder.

The benign corpus promises that no two of its commands differ only in an operand. This module settles what that
means. In a shape:

- program names, subcommands, option names, operators, keywords and the names of assigned variables stay;
- file names, patterns, messages, numbers, URLs, values of options and redirection targets become ``_``;
- a run of operands is one ``_``, so a command is not a new one because it names one more file;
- ``--opt=value`` is ``--opt=``, ``-20`` is ``-N`` and ``-n20`` is ``-nN``;
- a quoted word is an operand like any other, but a ``$(...)`` inside it is structure and stays;
- a program given by a path stays by its last part when it is a known program, else it is ``./_`` and its extension;
- the text of a here-document is an operand.

A word without a leading ``-`` is a subcommand only when :data:`SUBCOMMANDS` lists it for its program.
"""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

__all__ = ["GLUED", "MANY_TARGETS", "NAMED_PROGRAMS", "SUBCOMMANDS", "duplicates", "shape"]


# Program, or program and the subcommands so far: the words that are subcommands (or known targets) there. A name that
# begins with % is a group of words.
_TABLE: Final = """
%many: bazel gmake gradle gradlew just make mill mix mvn mvnw ninja rake sbt task lein rebar3
%named: ast ava bandit basedpyright black brakeman build build_runner cProfile compileall configure console coverage dis
  django doctest ensurepip eslint flake8 grpc_tools.protoc gunicorn http.server interrogate ipython isort jest
  json.tool karma manage.py mkdocs mocha mypy node nodemon nox nyc pdb pdoc perf pest php-cs-fixer phpcbf phpcs
  phpstan phpunit pint pip pip_audit piptools pre_commit prettier psalm py_compile pyflakes pylint pyright pytest
  python python3 rector rollup rspec rubocop ruff setup site sphinx stylelint tabnanny tarfile timeit tokenize tox
  trace ts-node tsc tsup tsx unittest uvicorn venv vite vitest vulture webpack xdist yapf zipapp zipfile
%pip: cache check compile config debug download freeze hash help index inspect install list search show sync tree
  uninstall wheel
%compose: attach build config cp create down events exec images kill logs ls pause port ps pull push restart rm run
  start stats stop top unpause up version wait watch
%node: add audit bin cache ci config create dedupe dlx doctor exec explain fund help info init install install-test
  it licenses link list ll login ls outdated pack ping prefix prune publish query rebuild remove rm root run
  run-script search store t test uninstall unlink up update upgrade version view whoami why workspace workspaces
%scripts: audit bench benchmark build build:dev build:docs build:prod bundle check check-types ci clean clean:all
  codegen compile coverage db:migrate db:seed deploy dev docs docs:build e2e fix fmt format format:check generate
  lint lint:fix package prepare preview release serve size start storybook test test:ci test:cov test:coverage
  test:e2e test:integration test:unit test:watch tsc type-check typecheck types typings watch
%targets: %scripts all all-tests build-all check-all clean-all dist distclean doc docker docs-html doctest doxygen
  header help html install integration integration-test lib man proto protos release-build run setup tags test-all
  test-fast test-integration test-race test-unit tests uninstall unit unit-test vendor verify vet zip
%rails: %targets assets:clobber assets:precompile console db:create db:drop db:migrate:status db:reset db:rollback
  db:schema:load db:setup db:test:prepare db:version default g install:local log:clear middleware notes rdoc routes
  rubocop runner spec stats test:models test:system tmp:clear yard zeitwerk:check
%jvm: %targets assemble assembleDebug assembleRelease bootJar bootRun buildEnvironment buildNeeded checkstyle:check
  checkstyleMain classes compileJava compileKotlin compileTestJava compiler:compile dependencies dependency:analyze
  dependency:go-offline dependency:resolve dependency:tree dependencyInsight dokkaHtml exec:java
  failsafe:integration-test fmt:format generate-sources help:active-profiles help:effective-pom help:evaluate
  installDist jacoco:report jacocoTestReport jar jar:jar javaToolchains javadoc jmh ktlintCheck lintDebug
  outgoingVariants pmd:check pmdMain process-classes process-resources process-test-classes processResources
  projects properties publish publishToMavenLocal shadowJar site spotbugs:check spotbugsMain spotless:apply
  spotless:check spotlessApply spotlessCheck spring-boot:build-image spring-boot:repackage spring-boot:run
  surefire-report:report surefire:test tasks test-compile testClasses testDebugUnitTest validate
  versions:display-dependency-updates war wrapper
alembic: branches check current downgrade heads history merge revision show stamp upgrade
apk: add del info list search update
apt: install list policy remove search show update upgrade
apt-cache: depends policy search show
apt-get: autoremove clean install purge remove update upgrade
artisan: cache:clear config:cache make:migration make:model migrate optimize route:list test tinker
aws: cp ec2 ecr lambda ls s3 sts sync
bazel: analyze-profile aquery build clean coverage cquery dump fetch help info mod query run shutdown sync test
  version
bazelisk: build clean query run test version
brew: info install list upgrade
buck2: build query test
buf: breaking build format generate lint
buildah: bud build images
bun: %scripts %node pm x
bun run: %scripts
bundle: add binstubs check clean config doctor exec info install list lock outdated package platform show update
  version
bundle exec: brakeman bundle-audit cucumber erblint guard jekyll parallel_rspec puma rackup rails rake reek rspec
  rubocop sidekiq sorbet srb standardrb steep tapioca yard
bundle exec rails: %rails server
bundle exec rake: %rails
bundle exec jekyll: build doctor serve
bundle exec yard: doc stats
bundle exec srb: tc
bundle exec steep: check
bundle exec tapioca: dsl gems
cargo: add audit b bench bloat build c careful check clean clippy component d deny doc expand fetch fix flamegraph
  fmt fuzz generate-lockfile hack help info init insta install llvm-cov llvm-lines locate-project login machete make
  metadata miri msrv mutants new nextest outdated owner package pkgid publish r read-manifest remove run rustc
  rustdoc search semver-checks t tarpaulin test tree udeps uninstall update vendor verify-project version watch
  xtask yank zigbuild
cargo insta: accept pending-snapshots reject review test
cargo fuzz: build list run
cargo hack: build check clippy test
cargo deny: check list
cargo llvm-cov: clean nextest report test
cargo miri: run setup test
cargo nextest: archive list run show-config
cargo xtask: %targets
cargo make: %targets
cdk: deploy diff synth
composer: %scripts about archive check-platform-reqs cs cs-fix diagnose dump-autoload dumpautoload exec global init
  install licenses normalize outdated phpstan phpunit psalm remove require run run-script show status suggests
  update validate why why-not
composer run: %scripts cs cs-fix phpstan
composer run-script: %scripts
conda: activate create env export info install list remove search update
corepack: disable enable prepare use
coverage: annotate combine debug erase html json lcov report run xml
dart: analyze compile fix format pub run test
deno: bench bundle cache check compile coverage doc fmt info install lint run task test types
deno task: %scripts
docker: attach build builder buildx commit compose config container context cp create diff events exec export
  history image images import info inspect kill load login logout logs manifest network node pause plugin port ps
  pull push rename restart rm rmi run save scout search secret service stack start stats stop swarm system tag top
  unpause update version volume wait
docker builder: build prune
docker buildx: bake build create du imagetools inspect ls prune rm use version
docker buildx imagetools: create inspect
docker compose: %compose
docker config: create inspect ls rm
docker container: attach commit cp create diff exec export inspect kill list logs ls pause port prune ps rename
  restart rm run start stats stop top unpause update wait
docker context: create export import inspect ls rm show update use
docker image: build history import inspect list load ls prune pull push rm save tag
docker manifest: annotate create inspect push rm
docker network: connect create disconnect inspect ls prune rm
docker scout: cves quickview
docker service: inspect logs ls ps
docker stack: deploy ls ps services
docker system: df events info prune
docker volume: create inspect ls prune rm
docker-compose: %compose
dotnet: add build build-server clean dev-certs ef fable fantomas format help list msbuild new nuget pack paket
  publish remove restore run sln store test tool user-secrets vstest watch workload
dotnet build-server: shutdown
dotnet ef: add database dbcontext list migrations script update
dotnet ef migrations: add has-pending-model-changes list remove script
dotnet ef database: drop update
dotnet format: analyzers style whitespace
dotnet list: package reference
dotnet nuget: list locals push verify
dotnet sln: add list remove
dotnet add: package reference
dotnet tool: install list restore run
dotnet watch: build run test
dune: build clean exec fmt install promote runtest test utop
dvc: pull push repro status
earthly: doc ls
flit: build install publish
flutter: analyze build doctor pub run test
gem: build contents env install list outdated push search specification uninstall update which
gh: api auth checkout create issue list merge pr release repo run view watch workflow
gh pr: checkout checks close comment create diff edit list merge ready review status view
gh issue: close comment create list view
gh run: list rerun view watch
gh release: create list upload view
cabal: bench build check clean haddock outdated repl run sdist test update upload
stack: bench build clean exec ghci haddock run test
git: add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap
  check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree
  config count-objects credential daemon describe diff diff-files diff-index diff-tree difftool fast-export
  fast-import fetch filter-branch filter-repo for-each-ref for-each-repo format-patch fsck gc gitk grep gui
  hash-object help init instaweb interpret-trailers lfs log ls-files ls-remote ls-tree mailinfo maintenance merge
  merge-base merge-file merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes pack-objects
  pack-redundant pack-refs patch-id prune pull push range-diff read-tree rebase reflog remote repack replace
  request-pull rerere reset restore rev-list rev-parse revert rm send-email shortlog show show-branch show-index
  show-ref sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag unpack-objects
  update-index update-ref update-server-info var verify-commit verify-pack verify-tag version whatchanged worktree
  write-tree
git bisect: bad good log new old replay reset run skip start terms view visualize
git bundle: create list-heads unbundle verify
git commit-graph: verify write
git config: edit get list set unset
git lfs: fetch install ls-files prune pull push status track untrack
git maintenance: run start stop
git notes: add append copy edit list merge prune remove show
git reflog: delete exists expire show
git remote: add get-url prune remove rename rm set-branches set-head set-url show update
git rerere: clear diff forget gc remaining status
git sparse-checkout: add disable init list reapply set
git stash: apply branch clear create drop list pop push save show store
git submodule: absorbgitdirs add deinit foreach init set-branch set-url status summary sync update
git worktree: add list lock move prune remove repair unlock
gleam: build check format run test
go: bug build clean doc env fix fmt generate get help install list mod run telemetry test tool version vet work
go mod: download edit graph init tidy vendor verify why
go tool: asm compile covdata cover dist fix nm objdump pprof test2json trace vet
go tool covdata: merge percent textfmt
go work: edit init sync use vendor
go help: build mod test
golangci-lint: cache config fmt help linters run version
goreleaser: build check healthcheck release
gradle: %jvm
gradlew: %jvm
hatch: build clean dep env fmt publish run shell show status test version
helm: create dependency diff env get history install lint list ls package plugin pull push repo rollback search show
  status template test uninstall upgrade verify version
helm dependency: build list update
helm get: all manifest notes values
helm repo: add list remove update
helm show: all chart readme values
just: %targets
k6: inspect run
kind: cluster clusters create delete get load version
ko: build resolve
kubectl: annotate api-resources api-versions apply attach auth autoscale certificate cluster-info completion config
  cordon cp create debug delete describe diff drain edit events exec explain expose get kustomize label logs patch
  port-forward proxy replace rollout run scale set taint top uncordon version wait
kubectl auth: can-i whoami
kubectl config: current-context delete-context get-clusters get-contexts get-users set set-context unset use-context
  view
kubectl create: configmap deployment job namespace secret service
kubectl rollout: history pause restart resume status undo
kubectl top: node nodes pod pods
kustomize: build edit version
lake: build exe test
lein: check clean compile deps install jar kibit repl run test uberjar
lerna: bootstrap build changed list publish run version
maturin: build develop publish sdist
make: %targets
gmake: %targets
meson: compile configure dist install introspect setup test wrap
minikube: ip start status stop
mix: app.config archive.install assets.build assets.deploy clean compile compile.elixir coveralls coveralls.html
  credo deps deps.clean deps.compile deps.get deps.tree deps.unlock deps.update dialyzer do docs ecto.create
  ecto.drop ecto.gen.migration ecto.migrate ecto.reset ecto.rollback ecto.setup escript.build eval format
  gettext.extract graph help hex.audit hex.build hex.outdated hex.publish loadpaths local.hex phx.digest
  phx.gen.schema phx.routes phx.server release run sobelow test xref
mvn: %jvm
mvnw: %jvm
next: build dev lint start
ninja: %targets
npm: %node access deprecate dist-tag get owner pkg restart sbom set shrinkwrap start stop token
npm cache: clean ls verify
npm config: delete get list ls set
npm pkg: delete fix get set
npm run: %scripts
npm run-script: %scripts
npm version: major minor patch prerelease
npm audit: fix signatures
npx: @biomejs/biome astro ava biome c8 commitlint cypress depcheck dpdm esbuild eslint jasmine jest knip lerna
  lint-staged madge mocha next ng nuxt nx nyc oxlint parcel playwright prettier prisma remark rollup semver
  size-limit storybook stylelint svelte-check swc tailwindcss tap ts-node tsc tsd tsup tsx turbo typedoc vite vitest
  vue-tsc webpack
npx cypress: info open run verify
npx ng: build lint serve test
npx next: build info lint
npx nx: affected affected:build affected:test build format:check graph lint reset run run-many show test
npx playwright: install show-report show-trace test
npx prisma: db format generate migrate validate
npx storybook: build dev
npx turbo: build lint prune run test
npx vite: build optimize preview
npx vitest: bench list related run typecheck watch
npx webpack: build info serve watch
npx biome: check ci format lint
npx @biomejs/biome: check ci format lint
npx astro: build check
npx nuxt: build generate typecheck
npx tap: run
npx c8: report
npx nyc: check-coverage merge report
nx: affected build graph lint reset run run-many test
opam: env exec install list switch
openssl: dgst enc genrsa rand req s_client verify version x509
packer: build fmt validate
pants: check fmt lint list package test
pdm: add build install list lock publish remove run sync update
pip: %pip
pip3: %pip
pip cache: dir info list purge remove
pip config: debug get list set
pip index: versions
pipenv: check graph install lock run sync update verify
pipx: inject install list run upgrade
pixi: add install list run
pnpm: %scripts %node fetch import patch recursive
pnpm exec: eslint jest playwright prettier tsc tsx turbo vite vitest
pnpm run: %scripts
pnpm store: path prune status
podman: build compose container cp exec history image images info inspect kill load logs machine network play pod
  port ps pull push restart rm rmi run save start stats stop system tag top version volume
podman container: inspect list ls ps rm
podman image: exists inspect list ls prune rm tree
podman network: inspect ls
podman pod: inspect ls ps rm stats
podman system: df info prune
podman volume: inspect ls prune
poetry: about add build cache check config debug env export init install list lock publish remove run search self
  shell show sync update version
poetry env: info list remove use
poetry run: alembic black coverage flake8 isort mkdocs mypy pre-commit pylint pytest python ruff sphinx-build tox
pre-commit: autoupdate clean gc install install-hooks run sample-config uninstall validate-config
pulumi: preview stack up
pyenv: global install local version versions which
rails: %rails server
rake: %rails
rebar3: as clean compile ct deps dialyzer eunit format hex proper release tree xref
redis-cli: get info keys ping set
ruff: analyze check clean config format linter rule server version
rustup: component default doc install override run self show target toolchain update which
rustup component: add list
rustup target: add list
rustup toolchain: install list
sam: build deploy local validate
sbt: %targets Test/compile assembly scalafmtAll scalafmtCheckAll testOnly testQuick update
mill: %targets
serverless: deploy package
skaffold: build dev render
skopeo: copy inspect
snap: install list
swift: build package run test
swift package: clean describe dump-package resolve show-dependencies update
systemctl: daemon-reload disable enable is-active list-units reload restart start status stop
task: %targets
terraform: apply console destroy fmt get graph import init output plan providers refresh show state taint validate
  version workspace
terraform state: list mv pull push rm show
terraform workspace: list new select show
tilt: ci down up
tox: config devenv exec list run run-parallel
turbo: build lint prune run test
twine: check upload
uv: add build cache export help init lock pip publish python remove run self sync tool tree venv version
uv cache: clean dir prune
uv pip: %pip
uv python: dir find install list pin uninstall
uv run: alembic bandit basedpyright behave black coverage deptry flake8 hatch hypothesis interrogate ipython isort
  jupyter lint-imports locust mkdocs mypy nox pip-audit pre-commit pylint pyright pytest python ruff sphinx-build
  tox ty uvicorn vulture
uv run coverage: combine erase html json report run xml
uv run ruff: check format
uv run pre-commit: run
uv run mkdocs: build serve
uv tool: dir install list run uninstall upgrade
vagrant: destroy halt ssh status up
vercel: build deploy
wrangler: deploy dev publish
yarn: %scripts %node constraints node npm plugin set
yarn run: %scripts
yarn workspace: %scripts
yarn workspaces: focus foreach info list run
zig: ar build build-exe build-lib build-obj cc env fetch fmt init run test translate-c version
zig build: %targets
"""


def _table(text: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in text.strip().replace("\n  ", " ").splitlines():
        name, _, words = line.partition(": ")
        groups = [found[word] if word.startswith("%") else frozenset({word}) for word in words.split()]
        found[name] = frozenset[str]().union(*groups)
    return found


_WORDS: Final = _table(_TABLE)
SUBCOMMANDS: Final = {name: words for name, words in _WORDS.items() if not name.startswith("%")}
# Programs whose every operand may be a target, so that a subcommand may follow another.
MANY_TARGETS: Final = _WORDS["%many"]
# Programs without subcommands that are known by their last part when a path or ``python -m`` names them.
NAMED_PROGRAMS: Final = _WORDS["%named"]
# Program -> options whose value is written on to them without a space.
_COMPILER: Final = ("-D", "-I", "-L", "-l", "-U", "-MF")
GLUED: Final[dict[str, tuple[str, ...]]] = {
    "awk": ("-F", "-v"),
    "c++": _COMPILER,
    "cc": _COMPILER,
    "clang": _COMPILER,
    "clang++": _COMPILER,
    "cmake": ("-D", "-U", "-S", "-B", "-G"),
    "cut": ("-d", "-f", "-c", "-b"),
    "g++": _COMPILER,
    "gcc": _COMPILER,
    "git": ("-L", "-S", "-G", "-X"),
    "gradle": ("-P", "-D"),
    "gradlew": ("-P", "-D"),
    "java": ("-D", "-X"),
    "javac": ("-A", "-J", "-X"),
    "ld": ("-L", "-l"),
    "m4": ("-D", "-I"),
    "mvn": ("-D", "-P"),
    "mvnw": ("-D", "-P"),
    "php": ("-d",),
    "perl": ("-I",),
    "protoc": ("-I",),
    "ruby": ("-I", "-r"),
    "sort": ("-k", "-t", "-S"),
    "xargs": ("-I", "-d"),
    "xxd": ("-s", "-l"),
}

OPERAND: Final = "_"
_SUBST: Final = "\x01"
_QUOTED: Final = "\x02"
_ENCODE: Final = {">": "\x03", "<": "\x04", "&": "\x05", "|": "\x06"}
_DECODE: Final = {code: char for char, code in _ENCODE.items()}
_REDIRECT: Final = re.compile(r"(?:(?<![\w./-])(\d)|(&))?(>>|>\||>|<<<|<<-?|<>|<)(&(?:\d+|-)?)?")
_HEREDOC: Final = re.compile(r"(?<!<)<<(-?)[ \t]*(['\"\\]?)([A-Za-z_]\w*)['\"]?")
_ASSIGN: Final = re.compile(r"([A-Za-z_]\w*)\+?=")
_OPERATOR: Final = re.compile(r"\|\||&&|;;|\|&|[();|&\n]")
_OPENERS: Final = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"})
_CLOSERS: Final = frozenset({"fi", "done", "}", "esac"})
# Program -> (options that take the next word, operands that stand before the program it starts).
_WRAPPERS: Final[dict[str, tuple[frozenset[str], int]]] = {
    "command": (frozenset(), 0),
    "env": (frozenset({"-u", "-C", "--unset", "--chdir"}), 0),
    "exec": (frozenset(), 0),
    "ionice": (frozenset({"-c", "-n"}), 0),
    "nice": (frozenset({"-n"}), 0),
    "nohup": (frozenset(), 0),
    "parallel": (frozenset({"-j", "-P"}), 0),
    "setsid": (frozenset(), 0),
    "stdbuf": (frozenset({"-o", "-e", "-i"}), 0),
    "sudo": (frozenset({"-u", "-g"}), 0),
    "timeout": (frozenset({"-s", "-k"}), 1),
    "xargs": (frozenset({"-n", "-I", "-P", "-L", "-d", "-a", "-s", "-E"}), 0),
}
# Program -> options whose next word is a program.
_STARTERS: Final = {
    "fd": frozenset({"-x", "-X", "--exec", "--exec-batch"}),
    "fdfind": frozenset({"-x", "-X", "--exec", "--exec-batch"}),
    "find": frozenset({"-exec", "-execdir", "-ok", "-okdir"}),
}
_MODULE_RUNNERS: Final = frozenset({"python", "python3", "python3.11", "python3.12", "python3.13"})


@dataclass(slots=True)
class _State:
    """Where in a simple command the next word stands."""

    program: str = ""
    chain: str = ""
    at_program: bool = True
    module_next: bool = False
    wrapped: tuple[frozenset[str], int] | None = None
    skip: int = 0
    target_next: bool = False
    closer: str = ""


@dataclass(slots=True)
class _Shaper:
    """Collects the parts of one shape."""

    parts: list[str] = field(default_factory=list)
    stack: list[_State] = field(default_factory=list)
    state: _State = field(default_factory=_State)

    def operand(self) -> None:
        if not self.parts or self.parts[-1] != OPERAND:
            self.parts.append(OPERAND)

    def keep(self, part: str) -> None:
        self.parts.append(part)


def duplicates(commands: Iterable[str]) -> list[tuple[str, str]]:
    """Each command whose shape an earlier one has, as (earlier, later)."""
    seen: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for command in commands:
        key = shape(command)
        if key in seen:
            found.append((seen[key], command))
        else:
            seen[key] = command
    return found


def shape(command: str) -> str:
    """The command with every operand replaced by ``_``."""
    shaper = _Shaper()
    for token in _tokens(command):
        if _OPERATOR.fullmatch(token):
            _operator(shaper, token)
        elif token == _SUBST:
            shaper.keep("$(")
            shaper.state.at_program = shaper.state.at_program and shaper.state.skip == 0
            shaper.stack.append(shaper.state)
            shaper.state = _State(closer=")")
        elif token[0] in _DECODE or (token[0].isdigit() and token[1:2] in _DECODE):
            shaper.keep("".join(_DECODE.get(char, char) for char in token))
            shaper.state.target_next = not re.fullmatch(r".*&(\d+|-)", shaper.parts[-1])
        else:
            _word(shaper, token)
    return " ".join(shaper.parts)


def _operator(shaper: _Shaper, token: str) -> None:
    if token == "(":
        shaper.keep("(")
        shaper.stack.append(shaper.state)
        shaper.state = _State(closer=")")
        return
    if token == ")" and shaper.stack:
        shaper.keep(")")
        shaper.state = shaper.stack.pop()
        shaper.state.at_program = False
        shaper.state.target_next = False
        return
    part = ";" if token == "\n" else token
    if part == ";" and (not shaper.parts or shaper.parts[-1] in {";", "&&", "||", "|", "do", "then", "else"}):
        return
    shaper.keep(part)
    shaper.state = _State(closer=shaper.state.closer)


def _word(shaper: _Shaper, token: str) -> None:
    state = shaper.state
    if state.target_next:
        state.target_next = False
        shaper.operand()
    elif state.skip and not token.startswith("-"):
        state.skip -= 1
        shaper.operand()
    elif state.at_program:
        _at_program(shaper, token)
    elif state.module_next:
        state.module_next = False
        state.program = state.chain = token
        if token in NAMED_PROGRAMS or token in SUBCOMMANDS:
            shaper.keep(token)
        else:
            shaper.operand()
    elif token.startswith("-"):
        shaper.keep(_option(state.program, token))
        state.at_program = token in _STARTERS.get(state.program, frozenset())
        state.module_next = token == "-m" and state.program in _MODULE_RUNNERS
    elif state.program == "for" and token == "in":
        shaper.keep("in")
    elif token in SUBCOMMANDS.get(state.chain, frozenset()):
        shaper.keep(token)
        if state.program not in MANY_TARGETS:
            state.chain = f"{state.chain} {token}"
    elif token == "]]":
        shaper.keep(token)
    else:
        shaper.operand()


def _at_program(shaper: _Shaper, token: str) -> None:
    state = shaper.state
    assigned = _ASSIGN.match(token)
    if assigned:
        shaper.keep(f"{assigned[1]}=")
        return
    if state.wrapped is not None and token.startswith("-"):
        shaper.keep(_option(state.program, token))
        state.skip = state.skip + 1 if token in state.wrapped[0] else state.skip
        return
    if token in _OPENERS:
        shaper.keep(token)
        return
    state.at_program = token in _WRAPPERS
    state.program = _program(token)
    state.chain = state.program.rpartition("/")[2]
    shaper.keep(state.program)
    if token in _CLOSERS or token not in _WRAPPERS:
        state.wrapped = None
        return
    state.wrapped = _WRAPPERS[token]
    state.skip = state.wrapped[1]


def _program(token: str) -> str:
    if "$" in token or _QUOTED in token:
        return OPERAND
    if "/" not in token:
        return token
    name = token.rpartition("/")[2]
    if name in SUBCOMMANDS or name in NAMED_PROGRAMS:
        return f"./{name}"
    extension = re.search(r"\.[a-z]+$", name)
    return f"./_{extension[0] if extension else ''}"


def _option(program: str, token: str) -> str:
    name = program.rpartition("/")[2]
    for prefix in GLUED.get(name, ()):
        if token.startswith(prefix) and not token.startswith("--"):
            return prefix if token == prefix else f"{prefix}{OPERAND}"
    if _QUOTED in token and "=" not in token:
        return token.split(_QUOTED, 1)[0] + OPERAND
    option, equals, _ = token.partition("=")
    if not option.startswith("--"):
        option = re.sub(r"\d+", "N", option)
    return option + equals


def _tokens(command: str) -> list[str]:
    plain = _plain(_without_heredocs(command))
    lexer = shlex.shlex(_REDIRECT.sub(_encoded, plain), posix=True, punctuation_chars="();|&\n")
    lexer.whitespace = " \t"
    lexer.whitespace_split = True
    lexer.commenters = lexer.quotes = lexer.escape = ""
    tokens: list[str] = []
    for token in lexer:
        tokens.extend(_OPERATOR.findall(token) if _OPERATOR.match(token) else [token])
    while tokens and tokens[-1] == "\n":
        tokens.pop()
    return tokens


def _encoded(match: re.Match[str]) -> str:
    return " " + "".join(_ENCODE.get(char, char) for char in match[0]) + " "


def _without_heredocs(command: str) -> str:
    kept: list[str] = []
    waiting: list[tuple[str, bool]] = []
    for line in command.split("\n"):
        if waiting:
            word, tabs = waiting[0]
            if (line.lstrip("\t") if tabs else line) == word:
                waiting.pop(0)
            continue
        waiting = [(found[3], found[1] == "-") for found in _HEREDOC.finditer(line)]
        kept.append(line)
    return "\n".join(kept)


def _plain(text: str) -> str:
    """The text with quotes and escapes replaced by a mark and each ``$(`` by one of its own."""
    out: list[str] = []
    opened: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        quoted = bool(opened) and opened[-1] == '"'
        if char == "\\" and text[at + 1 : at + 2] == "\n":
            out.append(" ")
            at += 2
        elif char == "\\":
            out.append(_QUOTED)
            at += 2
        elif char == "'" and not quoted:
            end = text.find("'", at + 1)
            out.append(_QUOTED)
            at = len(text) if end < 0 else end + 1
        elif char == '"':
            if quoted:
                opened.pop()
            else:
                opened.append('"')
            out.append(_QUOTED)
            at += 1
        elif text.startswith("$((", at):
            end = text.find("))", at)
            out.append(_QUOTED)
            at = len(text) if end < 0 else end + 2
        elif text.startswith("$(", at):
            opened.append(")")
            out.append(f" {_SUBST} ")
            at += 2
        elif char == "`":
            end = text.find("`", at + 1)
            out.append(_QUOTED)
            at = len(text) if end < 0 else end + 1
        elif quoted:
            out.append(_QUOTED)
            at += 1
        else:
            if char == "(":
                opened.append("(")
            elif char == ")" and opened:
                opened.pop()
            out.append(f" {char} " if char == ")" else char)
            at += 1
    return "".join(out)
