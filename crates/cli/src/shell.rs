//! Completion scripts and the man page.

use crate::args::Cli;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::{self, Write};

/// Prints the completion script of a shell, for the name under which the command was called.
///
/// The scripts for bash, zsh and fish get resources, names, namespaces and contexts from the command.
pub(crate) fn completions(shell: Shell, name: &str) -> io::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), name, &mut text);
    // The script for fish lists the command that is for scripts, although it is hidden.
    let is_visible = |line: &&str| !line.contains("-a \"__complete\"");
    let text = String::from_utf8_lossy(&text);
    let fixed: String = text.split_inclusive('\n').filter(is_visible).collect();
    let dynamic = dynamic(shell, name, &fixed).unwrap_or_default();
    io::stdout().write_all((fixed + &dynamic).as_bytes())
}

/// Returns the part of a script that runs the command, behind a script that knows the options.
fn dynamic(shell: Shell, name: &str, fixed: &str) -> Option<String> {
    match shell {
        Shell::Bash => {
            let function = fixed.split("complete -F ").nth(1)?.split_whitespace().next()?;
            Some(format!(
                r#"
{function}_dynamic() {{
    local found
    found=$("${{COMP_WORDS[0]}}" __complete "$COMP_CWORD" -- "${{COMP_WORDS[@]}}" 2>/dev/null)
    if [[ -n "$found" ]]; then
        local IFS=$'\n'
        COMPREPLY=( $(compgen -W "$found" -- "${{COMP_WORDS[COMP_CWORD]}}") )
    else
        {function} "$@"
    fi
}}
complete -F {function}_dynamic -o bashdefault -o default {name}
"#
            ))
        }
        Shell::Zsh => {
            let function = fixed.split("compdef _").nth(1)?.split_whitespace().next()?;
            Some(format!(
                r#"
_{function}_dynamic() {{
    local -a found
    found=("${{(@f)$("${{words[1]}}" __complete $((CURRENT - 1)) -- "${{words[@]}}" 2>/dev/null)}}")
    if [[ -n "${{found[1]}}" ]]; then
        compadd -Q -- "${{found[@]}}"
    else
        _{function} "$@"
    fi
}}
compdef _{function}_dynamic {name}
"#
            ))
        }
        Shell::Fish => {
            let found = format!(
                "'({name} __complete (count (commandline -opc)) -- (commandline -opc) (commandline -ct) 2>/dev/null)'"
            );
            Some(format!(
                "\ncomplete -c {name} -a {found}\ncomplete -c {name} -s n -l namespace -x -a {found}\ncomplete -c {name} -l context -x -a {found}\n"
            ))
        }
        _ => None,
    }
}

/// The sections of the man page that are not about options.
const EXAMPLES: [(&str, &str); 10] = [
    ("informer watch pods -n shop", "Prints every change of the pods of a namespace."),
    ("informer watch deploy -A -o diff --changed spec", "Prints the fields of every changed specification."),
    ("informer watch pods -A --once -o wide", "Prints the current state, as `kubectl get` does."),
    ("informer watch nodes --context a --context b", "Watches two clusters."),
    ("informer wait pod/front-1 --for=condition=Ready --timeout=2m", "Waits until a pod is ready."),
    ("informer top", "Shows live caches on a full screen."),
    ("informer record --dir ~/history", "Records every change into a folder."),
    ("informer changes --since 10m --ignore status", "Prints recorded changes and who made them."),
    ("informer web --dir ~/history", "Serves a page with a timeline of a recording."),
    ("informer devserver --write-kubeconfig FILE", "Runs a Kubernetes API server without a cluster."),
];
const ENVIRONMENT: [(&str, &str); 8] = [
    ("KUBECONFIG", "The kubeconfig files, separated by colons."),
    ("INFORMER_TOKEN", "The bearer token, as --token."),
    ("INFORMER_WEB_TOKEN", "The token of the page, as --web-token."),
    ("HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "The proxy for requests to the API server."),
    ("NO_COLOR", "If it is set and not empty, no colors are used."),
    ("TERM", "If it is dumb, no colors are used."),
    ("XDG_STATE_HOME", "The folder for the file that has the folders of recordings."),
    (
        "KUBERNETES_SERVICE_HOST",
        "If it is set, the service account of the pod is used if there is no kubeconfig.",
    ),
];
const FILES: [(&str, &str); 3] = [
    ("~/.kube/config", "The kubeconfig, unless --kubeconfig or KUBECONFIG is given."),
    ("~/.local/state/informer/recordings.json", "The folder of the last recording of each context."),
    ("/var/run/secrets/kubernetes.io/serviceaccount", "The service account of a pod."),
];

/// Prints the man page, with all subcommands.
pub(crate) fn man() -> io::Result<()> {
    let mut command = Cli::command();
    command.build();
    let mut text = Vec::new();
    let page = clap_mangen::Man::new(command.clone());
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    let is_shown = |subcommand: &&clap::Command| subcommand.get_name() != "help" && !subcommand.is_hide_set();
    for subcommand in command.get_subcommands().filter(is_shown) {
        writeln!(text, ".SH INFORMER {}", subcommand.get_name().to_uppercase())?;
        let mut part = Vec::new();
        let page = clap_mangen::Man::new(subcommand.clone());
        page.render_synopsis_section(&mut part)?;
        page.render_description_section(&mut part)?;
        page.render_options_section(&mut part)?;
        // The sections of a subcommand are below its own.
        text.extend(String::from_utf8_lossy(&part).replace(".SH ", ".SS ").into_bytes());
    }
    section(&mut text, "EXIT STATUS", &exit_codes(&command))?;
    section(&mut text, "ENVIRONMENT", &pairs(&ENVIRONMENT))?;
    section(&mut text, "FILES", &pairs(&FILES))?;
    section(&mut text, "EXAMPLES", &pairs(&EXAMPLES))?;
    page.render_version_section(&mut text)?;
    io::stdout().write_all(&text)
}

fn pairs(list: &[(&str, &str)]) -> Vec<[String; 2]> {
    list.iter().map(|(term, text)| [(*term).to_owned(), (*text).to_owned()]).collect()
}

/// Returns the exit codes, which `--help` lists.
fn exit_codes(command: &clap::Command) -> Vec<[String; 2]> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let code = |line: &str| {
        let (code, text) = line.trim().split_once("  ")?;
        code.parse::<u8>().ok()?;
        Some([code.to_owned(), text.to_owned()])
    };
    help.lines().filter_map(code).collect()
}

/// Writes a section with a term and a text per entry.
fn section(text: &mut Vec<u8>, title: &str, entries: &[[String; 2]]) -> io::Result<()> {
    // A dot or an apostrophe at the start of a line, a backslash and a hyphen have a meaning in roff.
    let escaped = |text: &str| format!("\\&{}", text.replace('\\', "\\e").replace('-', "\\-"));
    writeln!(text, ".SH \"{title}\"")?;
    for [term, description] in entries {
        writeln!(text, ".TP\n\\fB{}\\fR\n{}", escaped(term), escaped(description))?;
    }
    Ok(())
}
