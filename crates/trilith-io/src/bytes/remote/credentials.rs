//! Credentials: where each service's tools look for them, kept until shortly before they expire, and the signatures made
//! with them. The library `reqsign` knows the protocols; the order, and what is asked last, are decided here.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use pollster::block_on;
use reqsign_aws_v4 as aws;
use reqsign_azure_storage as azure;
use reqsign_core::time::Timestamp;
use reqsign_core::{
    Context, ProvideCredential, ProvideCredentialChain, ProvideCredentialDyn, SignRequest, Signer, SigningCredential,
};
use reqsign_google as google;
use ureq::http::request::Parts;

use super::credential_context::EnvVars;
use super::options::StoreOptions;
use super::profile::AwsProfiles;
use crate::threads::lock;

/// Credentials that a server refuses are fetched again if they are older than this.
const MIN_REFRESH_AGE: Duration = Duration::from_secs(10);

/// The sources that may be asked for credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CredentialSources {
    /// Options, variables, files and what they name.
    Configured,
    /// The machine itself, too.
    All,
}

/// A signer of the requests to a service.
pub(super) trait CredentialSigner: Send + Sync {
    /// Signs a request. Returns `false` if there are no credentials, and the reason if they could not be had.
    fn sign_request(&self, head: &mut Parts, region: &str, sources: CredentialSources) -> Result<bool, String>;

    /// Forgets the credentials with which a request was refused that was sent at `sent`, so that the next one fetches others. Returns
    /// `false` if another try would be refused as well: they are of a moment ago, and the answer does not say that they expired.
    fn forget_credentials(&self, sent: Instant, is_expired: bool) -> bool;
}

/// An account of Azure, and what opens it.
#[derive(Debug, Default, Clone)]
pub(super) struct AzureAccount {
    pub(super) name: String,
    pub(super) key: Option<String>,
    pub(super) sas_token: Option<String>,
    pub(super) endpoint: Option<String>,
}

type Provider<K> = Box<dyn ProvideCredentialDyn<Credential = K>>;
type Signing<K> = Box<dyn Fn(&Context, &mut Parts, &K, &str) -> reqsign_core::Result<()> + Send + Sync>;

/// The credentials of one service.
struct CachedCredentials<K> {
    context: Context,
    providers: Vec<Provider<K>>,
    /// Programs and services of the machine: slow to say that there is nothing.
    machine_providers: Vec<Provider<K>>,
    cached: Mutex<Option<(K, Instant)>>,
    signing: Signing<K>,
    /// The reason to give if no provider has credentials.
    known_missing: Option<String>,
}

impl<K: SigningCredential> CachedCredentials<K> {
    fn new<R: SignRequest<Credential = K>>(context: Context, signer: fn(&str) -> R) -> Self {
        let signing: Signing<K> = Box::new(move |context, head, credential, region| {
            block_on(signer(region).sign_request(context, head, Some(credential), None))
        });
        Self {
            context,
            providers: Vec::new(),
            machine_providers: Vec::new(),
            cached: Mutex::default(),
            signing,
            known_missing: None,
        }
    }

    fn with_provider(mut self, provider: impl ProvideCredential<Credential = K>) -> Self {
        self.providers.push(Box::new(provider));
        self
    }

    fn with_machine_provider(mut self, provider: impl ProvideCredential<Credential = K>) -> Self {
        self.machine_providers.push(Box::new(provider));
        self
    }

    /// The credentials: those that are kept, or fresh ones. A request that comes while they are fetched waits for them.
    fn get_or_fetch_credential(&self, sources: CredentialSources) -> Result<Option<K>, String> {
        let mut kept = lock(&self.cached);
        let old = kept.as_ref().map(|(credential, _)| credential.clone());
        if let Some(credential) = old.as_ref().filter(|credential| credential.is_valid()) {
            return Ok(Some(credential.clone()));
        }
        let last = self.machine_providers.iter().filter(|_| sources == CredentialSources::All || old.is_some());
        let mut problem = None;
        let early = self.providers.iter().map(|provider| (provider, true));
        for (provider, is_told) in early.chain(last.map(|provider| (provider, false))) {
            match block_on(provider.provide_credential_dyn(&self.context)) {
                Ok(Some(credential)) => {
                    *kept = Some((credential.clone(), Instant::now()));
                    return Ok(Some(credential));
                }
                // The first has the best reason. A machine without credentials has none.
                Err(error) if is_told => problem = problem.or_else(|| Some(error_summary(&error))),
                Ok(None) | Err(_) => {}
            }
        }
        // Cached credentials may still be valid for this request if they cannot be renewed.
        let soon = Timestamp::now() + Duration::from_secs(10);
        match (old.filter(|credential| credential.is_valid_at(soon)), problem.or_else(|| self.known_missing.clone())) {
            (Some(credential), _) => Ok(Some(credential)),
            (None, Some(problem)) => Err(problem),
            (None, None) => Ok(None),
        }
    }
}

impl<K: SigningCredential> CredentialSigner for CachedCredentials<K> {
    fn sign_request(&self, head: &mut Parts, region: &str, sources: CredentialSources) -> Result<bool, String> {
        let Some(credential) = self.get_or_fetch_credential(sources)? else { return Ok(false) };
        (self.signing)(&self.context, head, &credential, region).map_err(|error| error_summary(&error))?;
        Ok(true)
    }

    fn forget_credentials(&self, sent: Instant, is_expired: bool) -> bool {
        let mut kept = lock(&self.cached);
        let Some(since) = kept.as_ref().map(|(_, since)| *since) else { return is_expired };
        // Another request was refused with the same ones, and has fetched others already.
        if is_expired && since > sent {
            return true;
        }
        let is_forgotten = is_expired || since.elapsed() > MIN_REFRESH_AGE;
        if is_forgotten {
            *kept = None;
        }
        is_forgotten
    }
}

/// Returns the message of an error up to its first colon: after that it may repeat an answer, which may hold anything.
fn error_summary(error: &reqsign_core::Error) -> String {
    let text = error.to_string();
    let end = text.find(": ").or_else(|| text.find('\n')).unwrap_or(text.len()).min(160);
    text.chars().take(end).filter(|c| !c.is_control()).collect()
}

/// The credentials of Amazon, and of services that speak its protocol.
pub(super) fn new_aws_login(
    context: &Context,
    variables: &EnvVars,
    profiles: &AwsProfiles,
    options: &StoreOptions,
    region: &str,
) -> Box<dyn CredentialSigner> {
    let mut keeper = CachedCredentials::new(context.clone(), |region| aws::RequestSigner::new("s3", region));
    if let (Some(key), Some(secret)) = (&options.key, &options.secret) {
        let fixed = aws::StaticCredentialProvider::new(key, secret);
        return Box::new(match &options.token {
            Some(token) => keeper.with_provider(fixed.with_session_token(token)),
            None => keeper.with_provider(fixed),
        });
    }
    // A profile that somebody chose is meant, whatever else the environment holds.
    if !profiles.chosen {
        keeper = keeper.with_provider(aws::EnvCredentialProvider::new());
    }
    if let Some(role) = assume_role_provider(context, profiles, region) {
        keeper.providers.push(role);
    }
    if !profiles.chosen {
        let identity = aws::AssumeRoleWithWebIdentityCredentialProvider::new();
        keeper = keeper.with_provider(
            identity.with_role_session_name(variables.get(&["AWS_ROLE_SESSION_NAME"]).unwrap_or("trilith").to_owned()),
        );
    }
    keeper.providers.extend(of_profile(profiles, &profiles.name));
    if profiles.chosen {
        keeper.known_missing = Some(format!("the AWS profile {:?} has no credentials", profiles.name));
        return Box::new(keeper);
    }
    if variables.get(&["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"]).is_some() {
        keeper = keeper.with_provider(aws::ECSCredentialProvider::default());
    }
    Box::new(keeper.with_machine_provider(aws::IMDSv2CredentialProvider::new()))
}

/// Returns the providers for what a profile holds itself: keys, single sign-on, a program.
fn of_profile(profiles: &AwsProfiles, name: &str) -> Vec<Provider<aws::Credential>> {
    let mut sso = aws::SSOCredentialProvider::new().with_profile(name);
    if let Some(variable) = &profiles.sso_endpoint {
        sso = sso.with_endpoint(variable);
    }
    // Since 2022 the sign-on has a separate section, and its token is kept under the name of that section.
    if let Some(session) = profiles.profile_value(name, "sso_session")
        && let (Some(account), Some(role)) =
            (profiles.profile_value(name, "sso_account_id"), profiles.profile_value(name, "sso_role_name"))
        && let Some(region) = profiles.of_session(&session, "sso_region")
    {
        sso = sso.with_account_id(account).with_role_name(role).with_region(region).with_start_url(session);
    }
    vec![
        Box::new(aws::ProfileCredentialProvider::default().with_profile(name)),
        Box::new(sso),
        Box::new(aws::ProcessCredentialProvider::default().with_profile(name)),
    ]
}

/// The role that a profile assumes, with the credentials of another profile, of the machine, or of a web identity.
fn assume_role_provider(context: &Context, profiles: &AwsProfiles, region: &str) -> Option<Provider<aws::Credential>> {
    let value = |key: &str| profiles.profile_value(&profiles.name, key);
    let arn = value("role_arn")?;
    let session = value("role_session_name").unwrap_or_else(|| "trilith".to_owned());
    if let Some(file) = value("web_identity_token_file") {
        let provider = aws::AssumeRoleWithWebIdentityCredentialProvider::with_config(arn, file.into());
        return Some(Box::new(provider.with_role_session_name(session)));
    }
    let mut source = ProvideCredentialChain::new();
    match (value("source_profile"), value("credential_source").as_deref()) {
        (Some(name), _) => {
            for provider in of_profile(profiles, &name) {
                source = source.push(std::sync::Arc::<dyn ProvideCredentialDyn<Credential = aws::Credential>>::from(provider));
            }
        }
        (None, Some("Environment")) => source = source.push(aws::EnvCredentialProvider::new()),
        (None, Some("EcsContainer")) => source = source.push(aws::ECSCredentialProvider::default()),
        (None, Some("Ec2InstanceMetadata")) => source = source.push(aws::IMDSv2CredentialProvider::new()),
        _ => return None,
    }
    let sts = Signer::new(context.clone(), source, aws::RequestSigner::new("sts", "us-east-1"));
    let role = aws::AssumeRoleCredentialProvider::new(arn, sts).with_role_session_name(session);
    let mut role = role.with_region(region.to_owned());
    if let Some(id) = value("external_id") {
        role = role.with_external_id(id);
    }
    Some(Box::new(role))
}

/// The credentials of Google Cloud: the file of the application default credentials, then the machine.
pub(super) fn new_google_login(context: Context, variables: &EnvVars, options: &StoreOptions) -> Box<dyn CredentialSigner> {
    let keeper = CachedCredentials::new(context, |_| google::RequestSigner::new("storage"));
    let token = options.token.as_deref().filter(|word| !matches!(*word, "google_default" | "cache" | "browser"));
    let named = |path: std::path::PathBuf| GoogleKeyFile { text: None, path: Some(path), is_required: true };
    Box::new(match token {
        Some("cloud") => keeper.with_provider(google::VmMetadataCredentialProvider::new()),
        Some(text) if text.trim_start().starts_with('{') => {
            keeper.with_provider(GoogleKeyFile { text: Some(text.to_owned()), path: None, is_required: true })
        }
        Some(text) if text.starts_with("ya29.") => keeper.with_provider(google::TokenCredentialProvider::new(text)),
        Some(file) => keeper.with_provider(named(file.into())),
        None => {
            let keeper = match variables.get(&["GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"]) {
                Some(token) => keeper.with_provider(google::TokenCredentialProvider::new(token)),
                None => keeper,
            };
            let folder = variables.get(&["CLOUDSDK_CONFIG"]).map(std::path::PathBuf::from).or_else(|| {
                let base = variables.get(&["APPDATA", "XDG_CONFIG_HOME"]).map(std::path::PathBuf::from);
                Some(base.or_else(|| Some(std::path::Path::new(variables.get(&["HOME"])?).join(".config")))?.join("gcloud"))
            });
            let keeper = match (variables.get(&["GOOGLE_APPLICATION_CREDENTIALS"]), folder) {
                (Some(file), _) => keeper.with_provider(named(file.into())),
                (None, Some(folder)) => {
                    let path = folder.join("application_default_credentials.json");
                    keeper.with_provider(GoogleKeyFile { text: None, path: Some(path), is_required: false })
                }
                (None, None) => keeper,
            };
            keeper.with_machine_provider(google::VmMetadataCredentialProvider::new())
        }
    })
}

/// The credentials in a file of Google, as a token that can be kept.
#[derive(Debug)]
struct GoogleKeyFile {
    text: Option<String>,
    path: Option<std::path::PathBuf>,
    /// `true` if the user named the file.
    is_required: bool,
}

impl ProvideCredential for GoogleKeyFile {
    type Credential = google::Credential;

    async fn provide_credential(&self, context: &Context) -> reqsign_core::Result<Option<Self::Credential>> {
        let text = match (&self.text, &self.path) {
            (Some(text), _) => text.clone(),
            (None, Some(path)) => match context.file_read_as_string(&path.to_string_lossy()).await {
                Ok(text) => text,
                Err(_) if !self.is_required => return Ok(None),
                Err(_) => {
                    let message = format!("cannot read the Google credentials in {}", path.display());
                    return Err(reqsign_core::Error::config_invalid(message));
                }
            },
            (None, None) => return Ok(None),
        };
        let found = google::StaticCredentialProvider::new(text).provide_credential(context).await?;
        match found {
            // A token is requested once, and not for each request.
            Some(google::Credential { service_account: Some(account), token: None, .. }) => {
                google::ServiceAccountTokenCredentialProvider::new(account).provide_credential(context).await
            }
            found => Ok(found),
        }
    }
}

/// The credentials of an account of Azure: its key or a signature, else an identity.
pub(super) fn new_azure_login(
    context: Context,
    variables: &EnvVars,
    options: &StoreOptions,
    account: &AzureAccount,
) -> Box<dyn CredentialSigner> {
    let keeper = CachedCredentials::new(context, |_| azure::RequestSigner::new());
    let sas = account.sas_token.as_deref().map(|sas| sas.trim_start_matches('?'));
    Box::new(match (&account.key, sas, &options.token) {
        (Some(key), _, _) => keeper.with_provider(azure::StaticCredentialProvider::new_shared_key(&account.name, key)),
        (None, Some(sas), _) => keeper.with_provider(azure::StaticCredentialProvider::new_sas_token(sas)),
        (None, None, Some(token)) => keeper.with_provider(azure::StaticCredentialProvider::new_bearer_token(token)),
        (None, None, None) => {
            let keeper = match variables.get(&["AZURE_STORAGE_TOKEN", "AZURE_STORAGE_BEARER_TOKEN"]) {
                Some(token) => keeper.with_provider(azure::StaticCredentialProvider::new_bearer_token(token)),
                None => keeper,
            };
            keeper
                .with_provider(azure::ClientSecretCredentialProvider::new())
                .with_provider(azure::ClientCertificateCredentialProvider::new())
                .with_provider(azure::WorkloadIdentityCredentialProvider::new())
                .with_provider(azure::AzurePipelinesCredentialProvider::new())
                .with_machine_provider(azure::ImdsCredentialProvider::new())
                .with_machine_provider(azure::AzureCliCredentialProvider::new())
        }
    })
}
