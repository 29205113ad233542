"""Keys of slurm.conf that gpupool writes itself; an inventory's slurm.parameters may hold any other."""

OWN_KEYS = frozenset(
    """
    ClusterName SlurmctldHost SlurmUser SlurmctldPort SlurmdPort SlurmdUser StateSaveLocation SlurmdSpoolDir
    SlurmctldPidFile SlurmdPidFile SlurmctldLogFile SlurmdLogFile SlurmctldTimeout AuthType AuthInfo CredType
    SlurmctldParameters SlurmdParameters SlurmdTimeout UnkillableStepTimeout UnkillableStepProgram ReturnToService
    SuspendTime SuspendTimeout SuspendRate SuspendProgram SuspendExcNodes SuspendExcParts SuspendExcStates
    ResumeTimeout ResumeRate ResumeProgram ResumeFailProgram RebootProgram
    MaxJobCount ProctrackType TaskPlugin PrologFlags JobContainerType NamespaceType
    TaskProlog Prolog Epilog JobSubmitPlugins JobAcctGatherType AccountingStorageType AccountingStorageHost
    AccountingStorageTRES AccountingStorageEnforce AccountingStoreFlags PriorityType PriorityWeightPartition
    PriorityWeightQOS PriorityWeightAge PriorityWeightFairshare PriorityWeightJobSize PrivateData SelectType
    PriorityWeightTRES SelectTypeParameters SchedulerType SchedulerParameters EnforcePartLimits PreemptType PreemptMode
    PreemptParameters PreemptExemptTime GresTypes DefMemPerCPU DefMemPerGPU DefMemPerNode MpiDefault
    PropagateResourceLimitsExcept LaunchParameters NodeName PartitionName Include DownNodes FrontendName NodeSet
    """.lower().split()
)
#: Written only with slurm.health: a site may have a program of its own.
HEALTH_KEYS = frozenset(("healthcheckprogram", "healthcheckinterval", "healthchecknodestate"))
#: Written only where accounts have budgets: another half-life would give back what they have used.
BUDGET_KEYS = frozenset(("prioritydecayhalflife", "priorityusageresetperiod", "prioritycalcperiod"))
